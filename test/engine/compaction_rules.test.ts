/** What descriptors say of compactions: a family's word before its table's, before the server's. */
import { expect, test } from 'vitest';
import { compactionRulesOf } from '../../src/engine/compaction_rules.ts';
import { parseTable } from '../../src/model/index.ts';
import { COMPACTION_RULES } from '../../src/region/index.ts';

const MIN = 'hbase.hstore.compaction.min';
const RATIO = 'hbase.hstore.compaction.ratio';

test.each([
  ['nothing said', {}, {}, COMPACTION_RULES],
  ['the table', { [MIN]: '5' }, {}, { ...COMPACTION_RULES, filesMin: 5 }],
  [
    'the family over the table',
    { [MIN]: '5' },
    { [MIN]: '2' },
    { ...COMPACTION_RULES, filesMin: 2 },
  ],
  ['both', { [RATIO]: '0.5' }, { [MIN]: '4' }, { ...COMPACTION_RULES, ratio: 0.5, filesMin: 4 }],
  ['no number, too small', { [MIN]: 'many', [RATIO]: '-1' }, { [MIN]: '1' }, COMPACTION_RULES],
])('%s', (_what, tableWords, familyWords, want) => {
  const table = parseTable({
    name: 't',
    families: [{ name: 'f', CONFIGURATION: familyWords }],
    CONFIGURATION: tableWords,
  });
  expect(compactionRulesOf(table, 'f', COMPACTION_RULES)).toEqual(want);
});
