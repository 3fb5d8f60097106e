/** `node http_client.js PORT PATH SECONDS`: 32 connections, each one POST after the other. Prints calls and seconds as JSON. */
import { connect } from 'node:net';

const CONNECTIONS = 32;
const HEAD_END = '\r\n\r\n';

const [port, where, seconds] = process.argv.slice(2);
const text =
  `POST ${where} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
  `content-length: 2${HEAD_END}{}`;
const start = performance.now();
const end = start + Number(seconds) * 1000;
let calls = 0;

function run(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(text));
    socket.setNoDelay(true);
    let got = '';
    socket.on('error', reject);
    socket.on('data', (part: Buffer) => {
      got += part.toString('latin1');
      const headEnd = got.indexOf(HEAD_END);
      if (headEnd < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(got)?.[1]);
      if (got.length < headEnd + HEAD_END.length + length) return;
      if (!got.startsWith('HTTP/1.1 200')) throw new Error(got);
      got = '';
      calls++;
      if (performance.now() < end) {
        socket.write(text);
        return;
      }
      socket.destroy();
      resolve();
    });
  });
}

await Promise.all(Array.from({ length: CONNECTIONS }, run));
const tookSeconds = (performance.now() - start) / 1000;
process.stdout.write(JSON.stringify({ calls, tookSeconds }));
