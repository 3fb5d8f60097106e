/** Changes of schema on the model: what each does, and whether it is refused. */
import type { FamilySpec } from '../../src/model/index.ts';
import { byText } from './cells.ts';
import {
  ModelTable,
  type FamilyRules,
  type Model,
  type SchemaVersion,
  type TableOrigin,
} from './model.ts';
import type { Change } from './operations.ts';
import type { Shelf } from './shelf.ts';

/** A table's state as the engine tells it: what the model cannot know before. */
export interface TableFacts {
  readonly id: number;
  /** Ids of the families by name. */
  readonly familyIds: ReadonlyMap<string, number>;
}

const DEFAULTS: Omit<FamilyRules, 'name'> = {
  versions: 1,
  minVersions: 0,
  ttlSeconds: Infinity,
  keepDeletedCells: false,
  newVersionBehavior: false,
  durability: 'USE_DEFAULT',
};

/** A family's rules after a change by these attributes: those not named stay. */
export function rulesOf(spec: FamilySpec, old: FamilyRules | null): FamilyRules {
  const before = old ?? { name: spec.name, ...DEFAULTS };
  const has = (name: string): boolean => spec[name] !== undefined;
  return {
    name: spec.name,
    versions: has('VERSIONS') ? Number(spec['VERSIONS']) : before.versions,
    minVersions: has('MIN_VERSIONS') ? Number(spec['MIN_VERSIONS']) : before.minVersions,
    ttlSeconds: has('TTL') ? Number(spec['TTL']) : before.ttlSeconds,
    keepDeletedCells: has('KEEP_DELETED_CELLS')
      ? spec['KEEP_DELETED_CELLS'] !== 'FALSE'
      : before.keepDeletedCells,
    newVersionBehavior: has('NEW_VERSION_BEHAVIOR')
      ? spec['NEW_VERSION_BEHAVIOR'] === true
      : before.newVersionBehavior,
    durability: has('DURABILITY') ? String(spec['DURABILITY']) : before.durability,
  };
}

/** What a table is after a change; null: gone. */
export interface Outcome {
  readonly families: readonly FamilyRules[];
  readonly durability: string;
  readonly isEnabled: boolean;
  /** What it is after the change: another table with a new id, the same with a new descriptor, or enabled or disabled. */
  readonly effect: 'new' | 'schema' | 'state';
  /** What it is made of; absent: it begins empty. */
  readonly origin?: TableOrigin;
}

/** The code of the refusal, or what the table becomes. */
export function outcomeOf(
  table: ModelTable | null,
  change: Change,
  shelf: Shelf,
): string | Outcome | null {
  if (change.kind === 'clone' || change.kind === 'restore')
    return outcomeOfSnapshot(table, change, shelf);
  if (change.kind === 'create') return table === null ? created(change) : 'TableExistsException';
  if (table === null) return 'TableNotFoundException';
  const { durability } = table.current;
  const families = table.current.families.map(({ rules }) => rules);
  const same = { families, durability, isEnabled: table.isEnabled };
  switch (change.kind) {
    case 'addFamily':
    case 'modifyFamily': {
      const old = families.find(({ name }) => name === change.family.name) ?? null;
      if ((old === null) !== (change.kind === 'addFamily'))
        return 'InvalidFamilyOperationException';
      return { ...same, families: merged(families, [change.family]), effect: 'schema' };
    }
    case 'alterTable': {
      const specs = (change.spec.families ?? []) as readonly FamilySpec[];
      const asked = change.spec['DURABILITY'] as string | undefined;
      return {
        ...same,
        families: merged(families, specs),
        durability: asked ?? durability,
        effect: 'schema',
      };
    }
    case 'dropFamily': {
      const left = families.filter(({ name }) => name !== change.family);
      if (left.length === families.length || left.length === 0) {
        return 'InvalidFamilyOperationException';
      }
      return { ...same, families: left, effect: 'schema' };
    }
    case 'truncate':
      return { ...same, isEnabled: true, effect: 'new' };
    case 'enable':
      return table.isEnabled
        ? 'TableNotDisabledException'
        : { ...same, isEnabled: true, effect: 'state' };
    case 'disable':
      return table.isEnabled
        ? { ...same, isEnabled: false, effect: 'state' }
        : 'TableNotEnabledException';
    case 'drop':
      return table.isEnabled ? 'TableNotDisabledException' : null;
  }
}

/** A table made of a snapshot: a new one, or in the place of one that is disabled and stays so. */
function outcomeOfSnapshot(
  table: ModelTable | null,
  change: Extract<Change, { snapshot: string }>,
  shelf: Shelf,
): string | Outcome {
  const shelved = shelf.get(change.snapshot)?.tables[0];
  if (shelved === undefined) return 'SnapshotDoesNotExistException';
  if (change.kind === 'clone' && table !== null) return 'TableExistsException';
  if (table?.isEnabled === true) return 'TableNotDisabledException';
  const { families, durability } = shelved;
  const origin = { snapshot: change.snapshot, index: 0 };
  return { families, durability, isEnabled: table === null, effect: 'new', origin };
}

function created(change: Extract<Change, { kind: 'create' }>): Outcome {
  const specs = (change.spec.families ?? []) as readonly FamilySpec[];
  const asked = change.spec['DURABILITY'] as string | undefined;
  return {
    families: merged([], specs),
    durability: asked ?? 'USE_DEFAULT',
    isEnabled: true,
    effect: 'new',
  };
}

function merged(old: readonly FamilyRules[], specs: readonly FamilySpec[]): FamilyRules[] {
  const families = new Map(old.map((family) => [family.name, family]));
  for (const spec of specs) families.set(spec.name, rulesOf(spec, families.get(spec.name) ?? null));
  return [...families.values()].sort((a, b) => byText(a.name, b.name));
}

/** Makes the change in the model. `facts` are of the table after it. Gives what is wrong with them, or null. */
export function applyOutcome(
  model: Model,
  name: string,
  outcome: Outcome | null,
  tso: bigint,
  facts: TableFacts | null,
): string | null {
  const old = model.find(name);
  if (outcome === null) {
    if (old !== null) old.droppedTso = tso;
    return facts === null ? null : `${name} is still there`;
  }
  if (facts === null) return `${name} is missing`;
  const names = outcome.families.map((rules) => rules.name).join();
  if (names !== [...facts.familyIds.keys()].join()) {
    return `${name} has families ${[...facts.familyIds.keys()].join()}, not ${names}`;
  }
  if (outcome.effect !== 'new') return changeTable(model, old, outcome, tso, facts);
  if (old !== null) old.droppedTso = tso;
  if (model.tables.has(facts.id)) return `${name} has the id of another table, ${facts.id}`;
  const table = new ModelTable(facts.id, name, tso, outcome.origin ?? null);
  table.isEnabled = outcome.isEnabled;
  model.tables.set(facts.id, table);
  for (const id of facts.familyIds.values()) {
    if (model.familyIds.has(id)) return `${name} has the family id of another, ${id}`;
    model.familyIds.add(id);
  }
  table.versions.push(versionOf(outcome, tso, facts));
  return null;
}

function changeTable(
  model: Model,
  table: ModelTable | null,
  outcome: Outcome,
  tso: bigint,
  facts: TableFacts,
): string | null {
  if (table?.id !== facts.id) return `table ${facts.id} is not ${table?.id}`;
  table.isEnabled = outcome.isEnabled;
  for (const { id, rules } of table.current.families) {
    const now = facts.familyIds.get(rules.name);
    if (now !== undefined && now !== id) return `family ${rules.name} changed its id`;
  }
  for (const [name, id] of facts.familyIds) {
    const isOld = table.current.families.some((family) => family.rules.name === name);
    if (!isOld && model.familyIds.has(id)) return `family ${name} got an old id, ${id}`;
    model.familyIds.add(id);
  }
  if (outcome.effect === 'schema') table.versions.push(versionOf(outcome, tso, facts));
  return null;
}

function versionOf(outcome: Outcome, tso: bigint, facts: TableFacts): SchemaVersion {
  return {
    tso,
    durability: outcome.durability,
    families: outcome.families.map((rules) => ({ id: facts.familyIds.get(rules.name)!, rules })),
  };
}
