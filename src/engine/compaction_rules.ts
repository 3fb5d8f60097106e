/** What a store's descriptor says of its compactions (HBase: CompactionConfiguration), over the server's own rules. */
import type { FamilySchema, TableSchema } from '../model/index.ts';
import type { CompactionRules } from '../region/index.ts';

const PREFIX = 'hbase.hstore.compaction.';

/** A family's word comes before its table's, and that before the server's. What is no number is passed over. */
export function compactionRulesOf(
  table: TableSchema,
  familyName: string,
  rules: CompactionRules,
): CompactionRules {
  const family = table.families.find(({ name }) => name === familyName);
  const number = (name: string, otherwise: number, least: number): number => {
    const text = wordOf(family, PREFIX + name) ?? wordOf(table, PREFIX + name);
    const value = text === undefined ? Number.NaN : Number(text);
    return Number.isFinite(value) && value >= least ? value : otherwise;
  };
  if (!isConfigured(table) && !(family !== undefined && isConfigured(family))) return rules;
  return {
    filesMin: number('min', rules.filesMin, 2),
    filesMax: number('max', rules.filesMax, 2),
    ratio: number('ratio', rules.ratio, 0),
    sizeMin: number('min.size', rules.sizeMin, 0),
    sizeMax: number('max.size', rules.sizeMax, 0),
  };
}

type Described = Pick<TableSchema | FamilySchema, 'attributes' | 'configuration'>;

function wordOf(described: Described | undefined, name: string): string | undefined {
  return described?.configuration[name] ?? described?.attributes[name];
}

function isConfigured({ attributes, configuration }: Described): boolean {
  return hasRule(attributes) || hasRule(configuration);
}

function hasRule(words: Readonly<Record<string, string>>): boolean {
  for (const name in words) if (name.startsWith(PREFIX)) return true;
  return false;
}
