/**
 * Splits and merges: who asks for them. By hand, checked as HBase checks them; by itself, when a region has grown beyond
 * what its table's policy allows; and the normalizer, which merges small neighbours and splits large regions when asked to.
 * Switches of the whole store live in the manifest, those of a table in its descriptor.
 */
import { toStringBinary } from '../cell/index.ts';
import { put } from '../manifest/index.ts';
import type { Manifest } from '../manifest/index.ts';
import { DoNotRetryIOException, UnknownRegionException } from '../model/index.ts';
import type { NormalizeResult, RegionSwitch } from '../model/index.ts';
import type { Region } from '../region/index.ts';
import type { Background } from './background.ts';
import type { Catalog } from './catalog.ts';
import type { Logger } from './logger.ts';
import { normalizationOf } from './normalizer.ts';
import { checkSplitRow } from './region_changes.ts';
import type { RegionChanges } from './region_changes.ts';
import { middleRow } from './split_point.ts';
import { splitPolicyOf } from './split_policy.ts';
import type { SplitPolicy } from './split_policy.ts';
import type { TableState } from './table_state.ts';

export interface SplitterParts {
  readonly catalog: Catalog;
  readonly manifest: Manifest;
  readonly logger: Logger;
  readonly background: Background;
  readonly regionChanges: RegionChanges;
}

const SWITCH_DEFAULTS: Readonly<Record<RegionSwitch, boolean>> = {
  split: true,
  merge: true,
  normalizer: true,
};

/** A region that could not be split is looked at again when it has grown by this factor. */
const GROWTH_BEFORE_RETRY = 2;

export class Splitter {
  readonly #parts: SplitterParts;
  /** Regions that could not be split, and their size then. */
  readonly #refused = new WeakMap<Region, number>();
  #running: Promise<void> | null = null;
  #isStopped = false;
  failures = 0;
  /** Regions too large that a prefix policy does not let be split. */
  unsplittable = 0;

  constructor(parts: SplitterParts) {
    this.#parts = parts;
    parts.background.onNewFiles = (table, region) => this.consider(table, region);
  }

  isOn(name: RegionSwitch): boolean {
    const value = this.#parts.manifest.get('setting', settingName(name))?.value;
    return value === undefined ? SWITCH_DEFAULTS[name] : value === 'true';
  }

  /** Answers what it was. */
  async turn(name: RegionSwitch, on: boolean): Promise<boolean> {
    const was = this.isOn(name);
    const record = { name: settingName(name), value: String(on) };
    await this.#parts.manifest.commit([put('setting', record)]);
    return was;
  }

  /** Splits a region by hand. `row` null: in the middle. Throws DoNotRetryIOException. */
  async split(table: TableState, region: Region, row: Uint8Array | null): Promise<void> {
    this.#checkAllowed('split', table);
    const policy = policyOf(table);
    await this.#rewriteReferences(table, region);
    if (row === null) await this.#parts.background.flusher.flush(table, region);
    const middle = row ?? (await middleRow(region));
    if (middle === null) throw noSplitPoint(region);
    const at = policy.splitRow(middle);
    checkSplitRow(region, at);
    await this.#parts.regionChanges.split(table, region, at);
  }

  /** As `split` for the region that holds the row, or, without one, for every region that can be split. */
  async splitTable(table: TableState, row: Uint8Array | null): Promise<void> {
    if (row !== null) return this.split(table, table.regionOf(row), row);
    this.#checkAllowed('split', table);
    let refusal: unknown = null;
    let done = 0;
    for (const region of table.regions) {
      try {
        await this.split(table, region, null);
        done++;
      } catch (error) {
        if (!(error instanceof DoNotRetryIOException)) throw error;
        refusal = error;
      }
    }
    if (done === 0) throw refusal;
  }

  /** Throws DoNotRetryIOException, RegionTooBusyException. */
  async merge(table: TableState, one: Region, other: Region): Promise<void> {
    this.#checkAllowed('merge', table);
    await this.#parts.regionChanges.merge(table, one, other);
  }

  /** The region of this encoded or full name. Throws UnknownRegionException. */
  region(table: TableState, name: string): Region {
    const encoded = /(?:^|\.)([0-9a-f]{32})\.?$/.exec(name)?.[1];
    const region = table.regions.find(({ encodedName }) => encodedName === encoded);
    if (region === undefined) {
      throw new UnknownRegionException(`Table ${table.name} has no region ${name}`);
    }
    return region;
  }

  /** The table that has the region of this name now; null if none. */
  tableOfRegion(name: string): TableState | null {
    const encoded = /(?:^|\.)([0-9a-f]{32})\.?$/.exec(name)?.[1];
    if (encoded === undefined) return null;
    for (const table of this.#parts.catalog.tables()) {
      if (table.regions.some(({ encodedName }) => encodedName === encoded)) return table;
    }
    return null;
  }

  #checkAllowed(what: 'split' | 'merge', table: TableState): void {
    this.#parts.catalog.enabled(table.name);
    if (!this.isOn(what)) {
      throw new DoNotRetryIOException(`${what} switch is off for the whole store`);
    }
    if (!isAllowed(what, table)) {
      const attribute = what === 'split' ? 'SPLIT_ENABLED' : 'MERGE_ENABLED';
      throw new DoNotRetryIOException(`${attribute} of table ${table.name} is false`);
    }
  }

  async #rewriteReferences(table: TableState, region: Region): Promise<void> {
    await this.#parts.background.compactor.compactReferences(table, region);
  }

  /** A region has new files: splits it in the background if it is too large. */
  consider(table: TableState, region: Region): void {
    if (this.#isStopped || this.#running !== null || !this.#isTooLarge(table, region)) return;
    this.#running = this.#splitLarge(table, region)
      .catch((error: unknown) => {
        this.failures++;
        this.#refused.set(region, sizeOf(region));
        const fields = { err: error, table: table.name, region: region.encodedName };
        this.#parts.logger.warn(fields, 'a region could not be split');
      })
      .finally(() => {
        this.#running = null;
        this.#considerAll();
      });
  }

  /** What came while a split was running. */
  #considerAll(): void {
    for (const table of this.#parts.catalog.tables()) {
      for (const region of table.regions) {
        this.consider(table, region);
        if (this.#running !== null) return;
      }
    }
  }

  #isTooLarge(table: TableState, region: Region): boolean {
    if (!table.enabled || !this.isOn('split') || !isAllowed('split', table)) return false;
    if (!table.holdsRegion(region) || hasReferences(region)) return false;
    const size = sizeOf(region);
    if (size < (this.#refused.get(region) ?? 0) * GROWTH_BEFORE_RETRY) return false;
    const { memstoreFlushSizeBytes, maxFileSizeBytes } = table.settings;
    // Below the least that any policy asks for, its settings need not be read.
    if (size <= Math.min(2 * memstoreFlushSizeBytes, maxFileSizeBytes)) return false;
    const policy = policyOf(table);
    return !policy.isDisabled && size > policy.sizeMax(table.regions.length);
  }

  async #splitLarge(table: TableState, region: Region): Promise<void> {
    const middle = await middleRow(region);
    const row = middle === null ? null : policyOf(table).splitRow(middle);
    if (row === null || Buffer.compare(row, region.startKey) === 0 || !region.contains(row)) {
      this.#refused.set(region, sizeOf(region));
      this.unsplittable++;
      const group = row === null ? 'one row' : `the group ${toStringBinary(row)}`;
      const fields = { table: table.name, region: region.encodedName, sizeBytes: sizeOf(region) };
      this.#parts.logger.warn(fields, `a region is too large, but ${group} cannot be split`);
      return;
    }
    await this.#parts.regionChanges.split(table, region, row);
  }

  /** One pass over these tables, or over those that ask for it (NORMALIZATION_ENABLED). */
  async normalize(tables: readonly TableState[]): Promise<NormalizeResult> {
    const result = { splits: 0, merges: 0 };
    if (!this.isOn('normalizer')) return result;
    for (const table of tables) {
      if (!table.enabled) continue;
      const plan = normalizationOf(
        table.regions.map((region) => sizeOf(region)),
        {
          canSplit: this.isOn('split') && isAllowed('split', table),
          canMerge: this.isOn('merge') && isAllowed('merge', table),
          targetCount: numberOf(table, 'NORMALIZER_TARGET_REGION_COUNT'),
          targetSizeBytes: numberOf(table, 'NORMALIZER_TARGET_REGION_SIZE_MB') * 1024 * 1024,
        },
      );
      const { regions } = table;
      for (const [first, last] of plan.merges) {
        let merged = regions[first]!;
        for (let i = first + 1; i <= last; i++) {
          merged = await this.#parts.regionChanges.merge(table, merged, regions[i]!);
          result.merges++;
        }
      }
      for (const index of plan.splits)
        if (await this.#splitIfCan(table, regions[index]!)) result.splits++;
    }
    return result;
  }

  async #splitIfCan(table: TableState, region: Region): Promise<boolean> {
    try {
      await this.split(table, region, null);
      return true;
    } catch (error) {
      if (!(error instanceof DoNotRetryIOException)) throw error;
      this.#parts.logger.info(
        { err: error, table: table.name, region: region.encodedName },
        'the normalizer left a region as it is',
      );
      return false;
    }
  }

  /** Starts no more; waits for the one under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#parts.background.onNewFiles = null;
    await this.#running;
  }
}

const settingName = (name: RegionSwitch): string => `switch.${name}`;

const policyOf = (table: TableState): SplitPolicy => splitPolicyOf(table.schema, table.settings);

const isAllowed = (what: 'split' | 'merge', { schema }: TableState): boolean =>
  schema.attributes[what === 'split' ? 'SPLIT_ENABLED' : 'MERGE_ENABLED']?.toLowerCase() !==
  'false';

const numberOf = ({ schema }: TableState, attribute: string): number =>
  Number(schema.attributes[attribute] ?? 0);

/** Bytes of its store files. */
export function sizeOf(region: Region): number {
  let bytes = 0;
  for (const store of region.stores) for (const { info } of store.files) bytes += info.sizeBytes;
  return bytes;
}

/** Whether some of its files are also other regions'. */
export function hasReferences(region: Region): boolean {
  return region.stores.some(({ files }) => files.some(({ info }) => info.isReference));
}

function noSplitPoint(region: Region): DoNotRetryIOException {
  return new DoNotRetryIOException(
    `Region ${region.encodedName} is not splittable because bestSplitPoint = null: it has less than two rows in files. Give a split row.`,
  );
}
