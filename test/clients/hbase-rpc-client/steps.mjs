// An old client of npm that speaks the native protocol: steps.mjs ZOOKEEPER, with table `old` (family cf) made before.
import assert from 'node:assert';
import { promisify } from 'node:util';
import hbase from 'hbase-rpc-client';

const client = hbase({ zookeeperHosts: [process.argv[2]], zookeeperRoot: '/hbase' });
client.on('error', (error) => console.error('client error', error));
const call = (name) => promisify(client[name].bind(client));
const steps = {
  async 'put and get'() {
    const put = new hbase.Put('row1');
    put.add('cf', 'name', 'Alice');
    await call('put')('old', put);
    const row = await call('get')('old', new hbase.Get('row1'));
    assert.equal(row.cols['cf:name'].value.toString(), 'Alice');
  },
  async 'put many, get many'() {
    const rows = Array.from({ length: 100 }, (_, i) => `many${String(i).padStart(3, '0')}`);
    await call('mput')(
      'old',
      rows.map((row) => ({ row, 'cf:n': row })),
    );
    const found = await call('mget')('old', rows);
    assert.equal(found.length, 100);
    assert.equal(found[99].cols['cf:n'].value.toString(), 'many099');
  },
  async scan() {
    const scanner = client.getScanner('old', 'many000', 'many050');
    const rows = await promisify(scanner.toArray.bind(scanner))();
    assert.equal(rows.length, 50);
  },
  async 'scan with a filter'() {
    const scanner = client.getScanner('old');
    scanner.setFilter({ prefixFilter: { prefix: 'many01' } });
    const rows = await promisify(scanner.toArray.bind(scanner))();
    assert.equal(rows.length, 10);
  },
  async increment() {
    const value = await call('incrementColumnValue')('old', 'counter', 'cf', 'n', 5);
    assert.ok(value);
  },
  async 'check and put'() {
    const put = new hbase.Put('row1');
    put.add('cf', 'name', 'Bob');
    assert.ok(await call('checkAndPut')('old', 'row1', 'cf', 'name', 'Alice', put));
  },
  async delete() {
    await call('delete')('old', new hbase.Delete('row1'));
    const row = await call('get')('old', new hbase.Get('row1'));
    assert.ok(row === null || Object.keys(row.cols ?? {}).length === 0);
  },
};

async function main() {
  let failed = 0;
  for (const [name, step] of Object.entries(steps)) {
    try {
      await step();
    } catch (error) {
      failed++;
      console.log(`FAIL ${name}:`, error);
    }
  }
  console.log(`${Object.keys(steps).length - failed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

void main();
