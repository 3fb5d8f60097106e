/** SPLITS_FILE: a text file with one split key a line, `\xNN` for bytes, as HBase's shell reads it. */
import { fromStringBinary } from '../cell/index.ts';
import type { FileSystem } from '../io/index.ts';
import type { TableSpec } from '../model/index.ts';

/** The spec with SPLITS in place of SPLITS_FILE. Throws FileNotFoundException. */
export async function readSplitKeys(spec: TableSpec, fs: FileSystem): Promise<TableSpec> {
  const found = Object.keys(spec).find((key) => key.toUpperCase() === 'SPLITS_FILE');
  const path = found === undefined ? undefined : spec[found];
  if (typeof path !== 'string') return spec;
  const text = Buffer.from(await fs.readFile(path)).toString('utf8');
  const keys = text.split(/\r?\n/).filter((line) => line !== '');
  const rest = Object.fromEntries(Object.entries(spec).filter(([key]) => key !== found));
  return { ...rest, name: spec.name, SPLITS: keys.map((line) => fromStringBinary(line)) };
}
