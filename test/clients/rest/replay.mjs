// Sends recorded requests to a REST gateway and compares its answers with the recorded ones: node replay.mjs URL. Statuses are
// compared always, bodies where they tell of rows: without times of now, and not those that tell of servers and regions.
import { readFileSync } from 'node:fs';
import path from 'node:path';

const url = process.argv[2];
const pairs = JSON.parse(readFileSync(path.join(import.meta.dirname, 'pairs.json'), 'utf8'));
const OTHERS = /\/(status|version|schema|regions)|^\/(\?|$)|\/tables$|^\/namespaces$/;

const withoutNow = (text) => text.replace(/\b1[78]\d{11}\b/g, 'NOW');

/** A body as text in which only what matters is left. */
function shown(body, type) {
  if (body === null) return '';
  const bytes = Buffer.from(body, 'base64');
  return /json|xml|text/.test(type ?? '')
    ? withoutNow(bytes.toString('utf8'))
    : bytes.toString('hex');
}

let scanner = null;
let failed = 0;
for (const pair of pairs) {
  const target = pair.path.replace(/\/scanner\/[0-9a-f]+/, () => `/scanner/${scanner}`);
  const response = await fetch(url + target, {
    method: pair.method,
    headers: pair.headers,
    ...(pair.body === null ? {} : { body: Buffer.from(pair.body, 'base64') }),
  });
  const answer = Buffer.from(await response.arrayBuffer()).toString('base64');
  const location = response.headers.get('location');
  if (location !== null && location.includes('/scanner/')) scanner = location.split('/').at(-1);
  const faults = [];
  if (response.status !== pair.status) faults.push(`status ${response.status}, not ${pair.status}`);
  const isProtobufOfRows = pair.type === 'application/x-protobuf';
  if (pair.answer !== null && !OTHERS.test(pair.path) && !isProtobufOfRows) {
    const [got, want] = [shown(answer, pair.type), shown(pair.answer, pair.type)];
    if (got !== want) faults.push(`answers ${got.slice(0, 600)}, not ${want.slice(0, 600)}`);
  }
  if (faults.length > 0) {
    failed++;
    console.log(`FAIL ${pair.name}: ${faults.join('; ')}`);
    if (response.status >= 500) console.log(Buffer.from(answer, 'base64').toString().slice(0, 600));
  }
}
console.log(`${pairs.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
