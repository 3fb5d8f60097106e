/** The table of the cases: families f and g, VERSIONS 5, four rows, in a store in memory. */
import { fromStringBinary, toStringBinary } from '../../src/cell/index.ts';
import { open } from '../../src/engine/index.ts';
import type { EmbeddedConnection } from '../../src/engine/index.ts';
import type { Result, ScanOptions, Table } from '../../src/model/index.ts';

const ROWS: Readonly<Record<string, string>> = {
  r1: 'f:a@2=y1 f:a@1=x1 f:b@2=b1 f:c@3=c1 g:a@2=g1',
  r2: 'f:a@2=y2 f:a@1=x2 f:b@2=b2 f:c@3=c0 g:a@2=g2 g:z@9=0',
  r3: 'f:a@2=y3 f:a@1=x3 f:b@2=b3 g:a@2=g3',
  r4: 'f:a@2=y4 f:a@1=x4 f:b@2=b4 f:c@3=c0 g:a@2=g4',
};

/** Puts cells written as `f:q@ts=value`, blanks between. */
export async function putCells(table: Table, row: string, cells: string): Promise<void> {
  const inputs = cells.split(' ').map((cell) => {
    const [, family, qualifier, ts, value] = /^(\w+):(.*)@(\d+)=(.*)$/.exec(cell)!;
    return {
      family: family!,
      qualifier: fromStringBinary(qualifier!),
      ts: Number(ts),
      value: fromStringBinary(value!),
    };
  });
  await table.put(fromStringBinary(row), inputs);
}

export async function openCases(splits: readonly string[] = []): Promise<EmbeddedConnection> {
  const store = await open();
  await store.admin.createTable({
    name: 't',
    families: [
      { name: 'f', VERSIONS: 5 },
      { name: 'g', VERSIONS: 5 },
    ],
    ...(splits.length === 0 ? {} : { SPLITS: splits }),
  });
  for (const [row, cells] of Object.entries(ROWS)) await putCells(store.table('t'), row, cells);
  return store;
}

/** `{row f:q@ts=value …}`. */
export function resultText(result: Result): string {
  const cells = [...result.cells].map((cell) => {
    const { family, qualifier, value, ts } = cell;
    return `${family}:${toStringBinary(qualifier)}@${ts}=${toStringBinary(value)}`;
  });
  return `{${[toStringBinary(result.row), ...cells].join(' ')}}`;
}

/** Every result of a scan, blanks between. */
export async function scanText(table: Table, options: ScanOptions): Promise<string> {
  const results: string[] = [];
  for await (const result of table.scan(options)) results.push(resultText(result));
  return results.join(' ');
}
