/** The connection of an embedded store. */
import type {
  Admin,
  Connection,
  FileDescription,
  PinDescription,
  PinnedSnapshot,
  RegionDescription,
  SnapshotOptions,
  StoreStatus,
  Table,
} from '../model/index.ts';
import { EmbeddedAdmin } from './embedded_admin.ts';
import { openSnapshot, pinSnapshot } from './embedded_snapshot.ts';
import { EmbeddedTable } from './embedded_table.ts';
import type { OpenOptions } from './options.ts';
import { openServer } from './region_server.ts';
import type { RecoverySummary, RegionServer } from './region_server.ts';

export class EmbeddedConnection implements Connection {
  readonly admin: Admin;
  /** The engine itself, for the layers above it. */
  readonly server: RegionServer;

  constructor(server: RegionServer) {
    this.server = server;
    this.admin = new EmbeddedAdmin(server);
  }

  table(name: string): Table {
    return new EmbeddedTable(this.server, name);
  }

  /** What recovery found at open. */
  get recovery(): RecoverySummary {
    return this.server.recovery;
  }

  tso(): Promise<bigint> {
    return this.server.tso();
  }

  async files(table?: string): Promise<FileDescription[]> {
    return this.server.describeFiles(table);
  }

  async regions(table?: string): Promise<RegionDescription[]> {
    return this.server.describeRegions(table);
  }

  snapshot(options: SnapshotOptions = {}): Promise<PinnedSnapshot> {
    return this.server.track(() => pinSnapshot(this.server, options));
  }

  async openSnapshot(name: string): Promise<PinnedSnapshot> {
    this.server.checkOpen();
    return openSnapshot(this.server, name);
  }

  async listPins(): Promise<PinDescription[]> {
    this.server.checkOpen();
    return this.server.pins.list();
  }

  releasePin(name: string): Promise<void> {
    return this.server.track(() => this.server.pins.release(name));
  }

  status(): StoreStatus {
    return this.server.status();
  }

  sync(): Promise<void> {
    return this.server.sync();
  }

  /** Tells openers that find the folder locked where its holder can be reached. */
  setAddress(address: string | null): Promise<void> {
    return this.server.setAddress(address);
  }

  close(): Promise<void> {
    return this.server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * Opens the engine alone: in `dir` (made if absent), or in memory without one. See `openServer` for the errors. The
 * connection must be closed.
 */
export async function open(dir?: string, options?: OpenOptions): Promise<EmbeddedConnection> {
  return new EmbeddedConnection(await openServer(dir, options));
}
