/**
 * What a read must answer, said as plainly as possible: lists per column and HBase's rules from protocol/semantics.md,
 * sections 4, 5 and 7. It shares nothing with the matcher.
 */
import type {
  FamilySettings,
  ReadSpec,
  ScanSpec,
  TimeRangeSpec,
} from '../../../src/model/index.ts';
import { TYPES, compareTestCells } from './support.ts';
import type { TestCell, TestStore } from './support.ts';

export interface ModelRead {
  readonly nowMs: number;
  readonly readPoint: number;
}

const NAMES = new Map(Object.entries(TYPES).map(([name, type]) => [type, name]));
const number = (high: number, low: number): number => high * 2 ** 32 + low;

function bounds(range: TimeRangeSpec): { min: number; max: number } {
  return { min: number(range.minHigh, range.minLow), max: number(range.maxHigh, range.maxLow) };
}

/** Cells of one row and family that a read returns, in order. */
export function modelRow(
  cells: readonly TestCell[],
  settings: FamilySettings,
  spec: ReadSpec & { raw?: boolean },
  read: ModelRead,
): TestCell[] {
  const selected =
    spec.families === null
      ? {
          qualifiers: null,
          timeRange: spec.familyTimeRanges.get(settings.name) ?? spec.timeRange,
        }
      : spec.families.find((family) => family.family === settings.name);
  if (selected === undefined) return [];
  const wanted = selected.qualifiers?.map((bytes) => Buffer.from(bytes).toString('latin1')) ?? null;
  const range = bounds(selected.timeRange);
  const seen = cells
    .filter((cell) => cell.write <= read.readPoint)
    .filter((cell) => cell.ttl === undefined || cell.ts + cell.ttl >= read.nowMs)
    .sort(compareTestCells);
  const returned: TestCell[] = [];
  for (const qualifier of [...new Set(seen.map((cell) => cell.qualifier))].sort()) {
    if (wanted !== null && !wanted.includes(qualifier)) continue;
    const column = seen.filter((cell) => cell.qualifier === qualifier);
    if (spec.raw === true) returned.push(...rawColumn(column, spec.versions, range));
    else returned.push(...liveColumn(column, seen, settings, spec, range, read, wanted !== null));
  }
  return returned.slice(spec.storeOffset, spec.storeOffset + spec.storeLimit);
}

type Range = ReturnType<typeof bounds>;

function rawColumn(column: TestCell[], versions: number, range: Range): TestCell[] {
  const returned: TestCell[] = [];
  let puts = 0;
  for (const cell of column) {
    if (cell.ts < range.min || cell.ts >= range.max) continue;
    if (returned.some((other) => other.ts === cell.ts && other.type === cell.type)) continue;
    if (cell.type === TYPES.Put) puts++;
    if (puts > versions) break;
    returned.push(cell);
  }
  return returned;
}

function liveColumn(
  column: TestCell[],
  row: TestCell[],
  settings: FamilySettings,
  spec: ReadSpec,
  range: Range,
  read: ModelRead,
  isNamed: boolean,
): TestCell[] {
  const oldest = settings.ttlSeconds === 0x7fffffff ? 0 : read.nowMs - settings.ttlSeconds * 1000;
  const isExpired = (cell: TestCell): boolean => cell.ts < oldest;
  const goesAtOnce = (cell: TestCell): boolean =>
    isExpired(cell) && settings.minVersions === 0 && !settings.newVersionBehavior;
  const markers = row
    .filter((cell) => cell.type !== TYPES.Put && !goesAtOnce(cell))
    .filter((cell) => cell.ts >= range.min)
    .filter((cell) => settings.keepDeletedCells === 'FALSE' || cell.ts < range.max);
  const allPuts = column.filter((cell) => cell.type === TYPES.Put && !goesAtOnce(cell));
  const alive = settings.newVersionBehavior
    ? aliveByHistory(allPuts, markers, settings.versions)
    : newestOfEach(allPuts.filter((put) => !markers.some((marker) => hides(marker, put))));
  const limit = Math.min(spec.versions, settings.versions);
  const returned: TestCell[] = [];
  for (const put of alive.filter(({ ts }) => ts >= range.min && ts < range.max)) {
    const count = returned.length + 1;
    const isSpare = count > settings.minVersions && isExpired(put);
    // HBase gives one expired version too many when the column is named.
    const isLastNamed =
      isNamed && !settings.newVersionBehavior && count >= settings.minVersions && isExpired(put);
    if (count > limit || (isSpare && !isLastNamed)) break;
    returned.push(put);
    if (isLastNamed) break;
  }
  return returned;
}

function hides(marker: TestCell, put: TestCell): boolean {
  switch (marker.type) {
    case TYPES.DeleteFamily:
      return put.ts <= marker.ts;
    case TYPES.DeleteFamilyVersion:
      return put.ts === marker.ts;
    case TYPES.DeleteColumn:
      return put.qualifier === marker.qualifier && put.ts <= marker.ts;
    default:
      return put.qualifier === marker.qualifier && put.ts === marker.ts;
  }
}

/** The newest write of each timestamp; newest timestamp first. */
function newestOfEach(puts: readonly TestCell[]): TestCell[] {
  const sorted = [...puts].sort(compareTestCells);
  return sorted.filter((put, index) => index === 0 || sorted[index - 1]!.ts !== put.ts);
}

/** NEW_VERSION_BEHAVIOR, as time went by: what is beyond VERSIONS when something is deleted never comes back. */
function aliveByHistory(puts: TestCell[], markers: TestCell[], versions: number): TestCell[] {
  let alive: TestCell[] = [];
  let seen = -1;
  const grow = (to: number): void => {
    alive.push(...puts.filter((put) => put.write > seen && put.write <= to));
    seen = to;
  };
  const trim = (): void => {
    const kept: TestCell[] = [];
    for (const put of newestOfEach(alive)) {
      // Versions of one commit count once.
      if (new Set(kept.map((other) => other.write)).size < versions) kept.push(put);
    }
    alive = kept;
  };
  for (const marker of [...markers].sort((a, b) => a.write - b.write)) {
    grow(marker.write);
    if (marker.type === TYPES.Delete || marker.type === TYPES.DeleteFamilyVersion) trim();
    alive = alive.filter((put) => !hides(marker, put));
  }
  grow(Infinity);
  trim();
  return alive;
}

function show(cells: readonly { cell: TestCell; family: string }[]): string {
  return `[${cells
    .map(({ cell, family }) => {
      const column = `${family}:${cell.qualifier}`;
      return `${cell.row}/${column}@${cell.ts}/${NAMES.get(cell.type)}=${cell.value}`;
    })
    .join(' ')}]`;
}

/** Results of a whole scan, as text, and whether they are parts. */
export function modelScan(
  stores: readonly TestStore[],
  spec: ScanSpec,
  read: ModelRead,
): { text: string; partial: boolean }[] {
  const from = Buffer.from(spec.from).toString('latin1');
  const to = Buffer.from(spec.to).toString('latin1');
  const rows = [...new Set(stores.flatMap((store) => store.all().map((cell) => cell.row)))]
    .filter((row) => row >= from && (to === '' || row < to))
    .sort();
  if (spec.reversed) rows.reverse();
  const results: { text: string; partial: boolean }[] = [];
  let left = spec.limit;
  for (const row of rows) {
    if (left <= 0) break;
    const cells = stores.flatMap((store) => {
      const { settings } = store;
      const ofRow = store.all().filter((cell) => cell.row === row);
      const returned = modelRow(ofRow, settings, spec, read);
      return returned.map((cell) => ({ cell, family: settings.name }));
    });
    if (cells.length === 0) continue;
    left--;
    for (let at = 0; at < cells.length; at += spec.batch) {
      const partial = at + spec.batch < cells.length;
      results.push({ text: show(cells.slice(at, at + spec.batch)), partial });
    }
  }
  return results;
}
