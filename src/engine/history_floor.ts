/**
 * How far back reads may go. The retention promises a time; what it does not promise any more is not read, even if it is
 * still there, unless a pin or a hold keeps it. Below a *floor* history has been deleted: floors are settings of the
 * manifest, written in the commit that takes the deleted files' records away, one for each table and one for the whole
 * store (dropped tables, whose own records are gone).
 *
 *     setting              value
 *     history.floor        TSO in decimal digits: of the whole store
 *     history.floor/<id>   of the table with this id
 */
import { put } from '../manifest/index.ts';
import type { Edit, Manifest } from '../manifest/index.ts';
import { DoNotRetryIOException, SnapshotTooOld } from '../model/index.ts';
import { tsoText } from './tso_text.ts';
import type { Pins } from './pins.ts';
import { joinHalves } from './read_point.ts';
import type { ReadPoint } from './read_point.ts';

const TSO_LOGICAL_BITS = 18n;
const FLOOR = 'history.floor';

/** Name of the setting that keeps a table's floor; null: the store's. */
export const floorSetting = (tableId: number | null): string =>
  tableId === null ? FLOOR : `${FLOOR}/${tableId}`;

export class HistoryFloor {
  readonly #manifest: Manifest;
  readonly #readPoint: ReadPoint;
  readonly #pins: Pins;
  readonly #nowMs: () => number;
  readonly #retentionMs: number;
  /** By setting. Never below what the manifest says; raised before its commit. */
  readonly #floors = new Map<string, bigint>();

  constructor(parts: {
    readonly manifest: Manifest;
    readonly readPoint: ReadPoint;
    readonly pins: Pins;
    /** The oracle's milliseconds. */
    readonly nowMs: () => number;
    readonly retentionMs: number;
  }) {
    this.#manifest = parts.manifest;
    this.#readPoint = parts.readPoint;
    this.#pins = parts.pins;
    this.#nowMs = parts.nowMs;
    this.#retentionMs = parts.retentionMs;
    for (const { name, value } of this.#manifest.all('setting')) {
      if (name === FLOOR || name.startsWith(`${FLOOR}/`)) this.#floors.set(name, BigInt(value));
    }
  }

  /** The oldest moment that the retention's time promises: never above the read point, which is always readable. */
  #promised(): bigint {
    const oldestMs = Math.max(0, this.#nowMs() - this.#retentionMs);
    const promised = BigInt(oldestMs) << TSO_LOGICAL_BITS;
    const { high, low } = this.#readPoint;
    const readPoint = joinHalves(high, low);
    return promised < readPoint ? promised : readPoint;
  }

  /** What was dropped at or before this TSO may go: no reader may ask for it. */
  disposable(): bigint {
    const promised = this.#promised();
    const need = this.#pins.oldest();
    return need !== null && need.tso < promised ? need.tso : promised;
  }

  /** What was dropped at or before this TSO may go where space is short: pins and holds alone keep it. */
  disposableForSpace(): bigint {
    const { high, low } = this.#readPoint;
    const readPoint = joinHalves(high, low);
    const need = this.#pins.oldest();
    return need !== null && need.tso < readPoint ? need.tso : readPoint;
  }

  #floor(tableId: number | null): bigint {
    return this.#floors.get(floorSetting(tableId)) ?? 0n;
  }

  /** The earliest TSO that the table (null: any table that was dropped) can be read at. */
  earliest(tableId: number | null): bigint {
    const disposable = this.disposable();
    const floor = this.#floor(tableId);
    return floor > disposable ? floor : disposable;
  }

  /** Throws SnapshotTooOld if a read as of `tso` would miss something. */
  check(tableId: number | null, tso: bigint, tableName: string): void {
    // The store's floor is about tables that are gone with their records: a table that is there has its own.
    if (tso >= this.#promised() && tso >= this.#floor(tableId)) return;
    const earliest = this.earliest(tableId);
    if (tso >= earliest) return;
    throw new SnapshotTooOld(
      `the history of table ${tableName} is kept from TSO ${tsoText(earliest)} on, ${tsoText(tso)} is older`,
    );
  }

  /**
   * Throws DoNotRetryIOException if a snapshot pins a moment of the table, whose past somebody is about to give up. To be asked in
   * the step that raises the floor; `cause` is why the past cannot be kept.
   */
  checkNotPinned(table: { name: string; createdTso: bigint }, cause?: unknown): void {
    const pin = this.#pins.promisedFrom(table.createdTso);
    if (pin === null) return;
    throw new DoNotRetryIOException(
      `Table ${table.name} stays as it is: its past would be lost, and ${pin.owner} pins it at TSO ${tsoText(pin.tso)}`,
      cause === undefined ? {} : { cause },
    );
  }

  /** The greatest floor: as of moments at or above it nothing has been given up. */
  highest(): bigint {
    let highest = 0n;
    for (const floor of this.#floors.values()) if (floor > highest) highest = floor;
    return highest;
  }

  /** Refuses reads below `tso` from now on; the edit, which the caller commits, makes that last. */
  raise(tableId: number | null, tso: bigint): Edit {
    const name = floorSetting(tableId);
    const floor = this.#floors.get(name) ?? 0n;
    const raised = tso > floor ? tso : floor;
    this.#floors.set(name, raised);
    return put('setting', { name, value: raised.toString() });
  }
}
