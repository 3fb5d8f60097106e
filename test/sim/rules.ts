/**
 * HBase's rules for what a flush or compaction may drop and must drop, said on lists (protocol/semantics.md section 6) and
 * with nothing of the engine's matcher. Where a rule is not definite, nothing is asked.
 */
import type { FamilySettings } from '../../src/model/index.ts';
import {
  byKey,
  cellsText,
  cellText,
  DELETE_COLUMN,
  DELETE_FAMILY,
  PUT,
  sameKey,
  type ModelCell,
} from './cells.ts';
import { visibleCells, type FamilyRules } from './model.ts';

const TTL_FOREVER = 0x7fffffff;

export interface Rewritten {
  readonly settings: FamilySettings;
  /** All files of the store were in it: markers may go. */
  readonly isMajor: boolean;
  /** It was made as one of all files: markers must go. */
  readonly isAsked: boolean;
  /** Judges TTL. */
  readonly nowMs: number;
  readonly kept: readonly ModelCell[];
  readonly dropped: readonly ModelCell[];
}

/** What is wrong with a rewrite; null if nothing is. */
export function faultOf(rewritten: Rewritten): string | null {
  const kept = byRow(rewritten.kept);
  const dropped = byRow(rewritten.dropped);
  for (const row of new Set([...kept.keys(), ...dropped.keys()])) {
    const fault = faultOfRow(rewritten, kept.get(row) ?? [], dropped.get(row) ?? []);
    if (fault !== null) return fault;
  }
  return null;
}

function faultOfRow(
  { settings, isMajor, isAsked, nowMs }: Rewritten,
  kept: readonly ModelCell[],
  dropped: readonly ModelCell[],
): string | null {
  const rules = rulesOf(settings);
  const cells = [...kept, ...dropped];
  const shown = new Set(
    visibleCells(cells, rules, {
      qualifiers: null,
      range: [0, Infinity],
      versions: rules.versions,
      nowMs,
    }),
  );
  const keepsDeleted = settings.keepDeletedCells !== 'FALSE';
  const fault = (what: string, cell: ModelCell): string =>
    `${what}: ${cellText(cell)} of ${cellsText(cells.toSorted(byKey))} at ${nowMs}, rules ${JSON.stringify(rules)}`;
  for (const cell of dropped) {
    if (cell.type === PUT && keepsDeleted) {
      if (!isSurplus(cell, cells, rules, nowMs))
        return fault('dropped, though within VERSIONS', cell);
    } else if (shown.has(cell)) return fault('dropped, though readers see it', cell);
    if (cell.type !== PUT && !isMajor && !isSpentMarker(cell, cells, rules, nowMs)) {
      return fault('a marker dropped, not all files being merged', cell);
    }
  }
  if (keepsDeleted || rules.newVersionBehavior) return null;
  for (const cell of kept) {
    if (cell.type === PUT && !shown.has(cell)) return fault('kept, though no reader sees it', cell);
    if (cell.type !== PUT && isMajor && isAsked)
      return fault('a marker kept, all files being merged', cell);
  }
  return null;
}

/** Older than the family's TTL, or its own. */
function isExpired(cell: ModelCell, rules: FamilyRules, nowMs: number): boolean {
  const oldest = nowMs - rules.ttlSeconds * 1000;
  return (oldest > 0 && cell.ts < oldest) || (cell.ttlMs > 0 && cell.ts + cell.ttlMs < nowMs);
}

/** Cells of the same column before it in key order that are puts. */
function putsBefore(cell: ModelCell, cells: readonly ModelCell[]): ModelCell[] {
  return cells.filter(
    (other) => other.type === PUT && other.qualifier === cell.qualifier && byKey(other, cell) < 0,
  );
}

/** A put that KEEP_DELETED_CELLS does not keep: expired, replaced, or behind VERSIONS newer ones, deleted or not. */
function isSurplus(
  cell: ModelCell,
  cells: readonly ModelCell[],
  rules: FamilyRules,
  nowMs: number,
): boolean {
  const before = putsBefore(cell, cells);
  if (isExpired(cell, rules, nowMs) || before.some((other) => sameKey(other, cell))) return true;
  return rules.newVersionBehavior || before.length >= rules.versions;
}

/** A marker that has nothing to hide any more: expired, replaced, or behind VERSIONS puts, or covered by another. */
function isSpentMarker(
  cell: ModelCell,
  cells: readonly ModelCell[],
  rules: FamilyRules,
  nowMs: number,
): boolean {
  if (rules.newVersionBehavior || isExpired(cell, rules, nowMs)) return true;
  const isReplaced = cells.some(
    (other) => (other.tso > cell.tso && sameKey(other, cell)) || isCoveredBy(cell, other),
  );
  return isReplaced || putsBefore(cell, cells).length >= rules.versions;
}

/** A wider or newer marker hides whatever this one does. */
function isCoveredBy(marker: ModelCell, other: ModelCell): boolean {
  if (other === marker || other.ts < marker.ts || sameKey(marker, other)) return false;
  const isOfColumn = other.type === DELETE_COLUMN && other.qualifier === marker.qualifier;
  return other.type === DELETE_FAMILY || isOfColumn;
}

function rulesOf(settings: FamilySettings): FamilyRules {
  return {
    name: settings.name,
    versions: settings.versions,
    minVersions: settings.minVersions,
    ttlSeconds: settings.ttlSeconds === TTL_FOREVER ? Infinity : settings.ttlSeconds,
    keepDeletedCells: settings.keepDeletedCells !== 'FALSE',
    newVersionBehavior: settings.newVersionBehavior,
    durability: settings.durability,
  };
}

function byRow(cells: readonly ModelCell[]): Map<string, ModelCell[]> {
  const rows = new Map<string, ModelCell[]>();
  for (const cell of cells) {
    const row = rows.get(cell.row);
    if (row === undefined) rows.set(cell.row, [cell]);
    else row.push(cell);
  }
  return rows;
}
