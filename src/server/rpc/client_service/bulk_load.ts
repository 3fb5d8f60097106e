/**
 * Bulk load as clients do it: a staging folder that the server names, files that the client has put somewhere the server can
 * read, and a call for each region (protocol/client-service.md section 6).
 *
 *     PrepareBulkLoadRequest  1 table_name · 2 region   PrepareBulkLoadResponse  1 bulk_token
 *     BulkLoadHFileRequest    1 region · 2 family_path { 1 family · 2 path } · 3 assign_seq_num · 5 bulk_token · 6 copy_file
 *     BulkLoadHFileResponse   1 loaded
 *     CleanupBulkLoadRequest  1 bulk_token · 2 region
 */
import { fileURLToPath } from 'node:url';
import type { RegionServer } from '../../../engine/index.ts';
import { ProtoReader, ProtoWriter, latin1 } from '../../../wire/index.ts';
import { RemoteException } from '../exceptions.ts';
import type { RpcAnswer, RpcCall } from '../service.ts';
import type { FoundRegion, RegionFinder } from './regions.ts';

const LOADED: Uint8Array = Uint8Array.of(0x08, 1);

export class BulkLoads {
  readonly #engine: RegionServer;
  readonly #regions: RegionFinder;

  constructor(engine: RegionServer, regions: RegionFinder) {
    this.#engine = engine;
    this.#regions = regions;
  }

  /** Names a folder that the client may put files into; nobody has to. */
  async prepare(): Promise<RpcAnswer> {
    const { layout, env } = this.#engine;
    const name = Buffer.from(env.random.bytes(16)).toString('hex');
    const folder = `${layout.tmp}/bulk/${name}`;
    await env.fs.ensureFolder(folder);
    const writer = new ProtoWriter(128);
    writer.string(1, `file:${folder.startsWith('/') ? '' : '/'}${folder}`);
    return { message: writer.take() };
  }

  async cleanup(call: RpcCall): Promise<RpcAnswer> {
    const reader = new ProtoReader(call.param);
    let token = '';
    while (reader.next()) {
      if (reader.field === 1) token = reader.string();
      else reader.skip();
    }
    const { layout, env } = this.#engine;
    const name = /\/bulk\/([0-9a-f]{32})$/.exec(token)?.[1];
    if (name !== undefined) await env.fs.remove(`${layout.tmp}/bulk/${name}`);
    return { message: new Uint8Array(0) };
  }

  async load(call: RpcCall): Promise<RpcAnswer> {
    const reader = new ProtoReader(call.param);
    let found: FoundRegion | null = null;
    const files: { family: string; path: string }[] = [];
    let copies = false;
    while (reader.next()) {
      switch (reader.field) {
        case 1:
          found = this.#regions.store(reader.message());
          break;
        case 2:
          files.push(readFamilyPath(reader.message()));
          break;
        case 6:
          copies = reader.bool();
          break;
        default:
          reader.skip();
      }
    }
    if (found === null) throw new RemoteException('DoNotRetryIOException', 'no region is named');
    const { table, region } = found;
    for (const { family } of files) table.familyIndex(family);
    await this.#engine.bulkLoad.loadFiles(table.name, files, {
      move: !copies,
      within: (firstRow, lastRow) => {
        if (region.contains(firstRow) && region.contains(lastRow)) return;
        throw new RemoteException(
          'WrongRegionException',
          `Bulk load file does not fit inside region ${region.encodedName}`,
        );
      },
    });
    return { message: LOADED };
  }
}

function readFamilyPath(reader: ProtoReader): { family: string; path: string } {
  let family = '';
  let path = '';
  while (reader.next()) {
    if (reader.field === 1) family = latin1(reader.bytes());
    else if (reader.field === 2) path = reader.string();
    else reader.skip();
  }
  return { family, path: localPath(path) };
}

/** The path of a file URL of Java's (`file:/a`, `file:///a`); other paths as they are. Throws for another file system's. */
function localPath(path: string): string {
  if (/^file:\/\/\//.test(path)) return fileURLToPath(path);
  if (path.startsWith('file:/')) return fileURLToPath(`file://${path.slice('file:'.length)}`);
  if (!/^[a-z][a-z0-9+.-]*:\//.test(path)) return path;
  throw new RemoteException(
    'DoNotRetryIOException',
    `${path} lies in a file system that is not read here`,
  );
}
