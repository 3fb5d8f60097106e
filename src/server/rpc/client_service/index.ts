/** ClientService: reads and writes of HBase's clients (Client.proto). */
import { RemoteException } from '../exceptions.ts';
import type { RpcMethod, RpcService, ServerParts } from '../service.ts';
import { BulkLoads } from './bulk_load.ts';
import { Endpoints } from './endpoints.ts';
import { Gets } from './get.ts';
import { Multi } from './multi.ts';
import { Mutates } from './mutate.ts';
import { RegionFinder } from './regions.ts';
import { Scans } from './scan.ts';
import { Scanners } from './scanners.ts';

/** The service of a running server; `close` ends its scanners. */
export function clientService(parts: ServerParts): RpcService {
  const { engine, env, limits, systemRegions } = parts;
  const regions = new RegionFinder(engine, systemRegions);
  const scanners = new Scanners(env, limits);
  const gets = new Gets(engine, regions);
  const mutates = new Mutates(engine, regions);
  const endpoints = new Endpoints(engine, regions, mutates);
  const multi = new Multi({ engine, regions, gets, mutates, endpoints });
  const scans = new Scans({ engine, env, regions, scanners, limits });
  const bulkLoads = new BulkLoads(engine, regions);
  const methods: [string, RpcMethod][] = [
    ['Get', (call) => gets.get(call)],
    ['Mutate', (call) => mutates.mutate(call)],
    ['Multi', (call) => multi.multi(call)],
    ['Scan', (call) => scans.scan(call)],
    ['PrepareBulkLoad', () => bulkLoads.prepare()],
    ['BulkLoadHFile', (call) => bulkLoads.load(call)],
    ['CleanupBulkLoad', (call) => bulkLoads.cleanup(call)],
    ['ExecService', (call) => endpoints.exec(call)],
    ['ExecRegionServerService', noSuchService],
  ];
  return { name: 'ClientService', methods: new Map(methods), close: () => scanners.closeAll() };
}

function noSuchService(): never {
  throw new RemoteException(
    'UnknownProtocolException',
    'No registered coprocessor service found on this server',
  );
}
