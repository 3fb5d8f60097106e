/**
 * Brings an export back into tables (HBase: Import): cells as puts and markers, each with the timestamp it had. HFiles are
 * bulk loaded where nothing is filtered or renamed. An import that was broken off goes on where it stopped when the same
 * folder is imported into the same table again: how far it came stands in the store's settings. What is written twice does
 * no harm, as every cell has its timestamp.
 *
 *     setting                       value
 *     import.<id of export>.<table> <file>:<cells of it that are written>; `done` for an HFile folder that was loaded
 */
import { EmbeddedConnection } from '../engine/index.ts';
import { filterMaker, isIncluded } from '../filter/index.ts';
import type { CellFilter } from '../filter/index.ts';
import { CorruptionException } from '../io/index.ts';
import type { Env } from '../io/index.ts';
import { put, remove } from '../manifest/index.ts';
import {
  IllegalArgumentException,
  TableNotFoundException,
  canonicalTableName,
} from '../model/index.ts';
import type { Connection, Durability, FilterInput } from '../model/index.ts';
import { PackedCell } from '../region/index.ts';
import { CellWriter } from './cell_writer.ts';
import { entryFault } from './checked_file.ts';
import { InterruptedIOException } from './errors.ts';
import type { ExportedTable } from './export_manifest.ts';
import { openSource, readCells } from './import_source.ts';
import type { ImportSource, SourceTable } from './import_source.ts';
import { sideBySide, Work } from './work.ts';
import type { WorkOptions } from './work.ts';

export interface ImportOptions extends WorkOptions {
  /** Of a folder that says what tables it has: only these. */
  readonly tables?: readonly string[];
  /** Other names for tables. Of a folder that names none the only one, under ''. */
  readonly rename?: Readonly<Record<string, string>>;
  /** Tables written side by side; default 2. */
  readonly parallel?: number;
  /** Other names for families. */
  readonly renameFamilies?: Readonly<Record<string, string>>;
  /** Rows and cells to take, as HBase's Import filters: by row key, then cell by cell. */
  readonly filter?: FilterInput;
  /** Makes tables that are not there, as the export describes them. */
  readonly create?: boolean;
  readonly durability?: Durability;
  /** Cells written at once; default 2000. */
  readonly batch?: number;
  /** Leave out the check of all checksums before the first cell is written. */
  readonly skipVerify?: boolean;
}

export interface ImportedTable {
  readonly table: string;
  readonly puts: number;
  readonly deletes: number;
  /** Left out by the filter. */
  readonly filtered: number;
  /** Cells that an earlier run had written. */
  readonly resumed: number;
  /** Tags other than TTL, which cannot be written by clients. */
  readonly tagsLost: number;
}

const BATCH_CELLS = 2000;
/** Cells between two notes of how far it is. */
const NOTE_EVERY = 50_000;

/**
 * Imports the folder. Throws TableNotFoundException, CorruptionException (before anything is written, unless `skipVerify`),
 * ExportFormatException, InterruptedIOException, and what writing throws.
 */
export async function importTables(
  store: Connection,
  env: Env,
  dir: string,
  options: ImportOptions = {},
): Promise<ImportedTable[]> {
  const work = new Work(env, options);
  const source = await openSource(env, dir);
  const chosen = chooseTables(source, options);
  await prepareTables(store, chosen, options);
  if (options.skipVerify !== true) await checkFiles(work, dir, source);
  const done: ImportedTable[] = [];
  await sideBySide([...chosen.entries()], options.parallel ?? 2, async ([i, { table, target }]) => {
    work.begin(target);
    done[i] = await new TableImport({ store, work, source, table, target, options }).run();
  });
  return done;
}

interface Chosen {
  readonly table: SourceTable;
  readonly target: string;
}

function chooseTables(source: ImportSource, options: ImportOptions): Chosen[] {
  const { tables } = options;
  // '' is the table of a folder that does not name it.
  const rename = new Map(
    Object.entries(options.rename ?? {}).map(([from, to]) => [
      from === '' ? '' : canonicalTableName(from),
      to,
    ]),
  );
  const wanted = tables?.map(canonicalTableName);
  const known = source.tables.flatMap(({ name }) => (name === null ? [] : [name]));
  const stranger = [...(wanted ?? []), ...rename.keys()].find(
    (name) => name !== '' && known.length > 0 && !known.includes(name),
  );
  if (stranger !== undefined) {
    throw new TableNotFoundException(
      `the export has no table ${stranger}; it has ${known.join(', ')}`,
    );
  }
  return source.tables
    .filter(({ name }) => name === null || wanted === undefined || wanted.includes(name))
    .map((table) => {
      const target = rename.get(table.name ?? '') ?? table.name ?? wanted?.[0] ?? null;
      if (target === null) {
        throw new IllegalArgumentException(
          `${table.dir} does not say of which table it is: name one`,
        );
      }
      return { table, target: canonicalTableName(target) };
    });
}

async function prepareTables(
  store: Connection,
  chosen: readonly Chosen[],
  options: ImportOptions,
): Promise<void> {
  for (const { table, target } of chosen) {
    if (await store.admin.tableExists(target)) continue;
    if (options.create !== true || table.schema === null) {
      throw new TableNotFoundException(`Table '${target}' was not found: create it first`);
    }
    const families = options.renameFamilies ?? {};
    const spec = {
      ...table.schema.attributes,
      name: target,
      configuration: table.schema.configuration,
      families: table.schema.families.map(({ name, attributes, configuration }) => ({
        ...attributes,
        name: families[name] ?? name,
        configuration,
      })),
    };
    await store.admin.createTable(spec);
  }
}

async function checkFiles(work: Work, dir: string, source: ImportSource): Promise<void> {
  work.begin('checking');
  for (const entry of source.entries) {
    const fault = await entryFault(work, dir, entry);
    if (fault === null) continue;
    throw new CorruptionException(`the export is damaged: ${fault};`, `${dir}/${entry.path}`, 0);
  }
}

class TableImport {
  readonly #store: Connection;
  readonly #work: Work;
  readonly #source: ImportSource;
  readonly #from: SourceTable;
  readonly #target: string;
  readonly #options: ImportOptions;
  readonly #writer: CellWriter;
  readonly #filter: CellFilter | null;
  readonly #view = new PackedCell();
  #filtered = 0;
  #resumed = 0;
  #row: Uint8Array = new Uint8Array(0);
  #isRowFiltered = false;

  constructor(parts: {
    readonly store: Connection;
    readonly work: Work;
    readonly source: ImportSource;
    readonly table: SourceTable;
    readonly target: string;
    readonly options: ImportOptions;
  }) {
    const { store, work, source, table, target, options } = parts;
    this.#store = store;
    this.#work = work;
    this.#source = source;
    this.#from = table;
    this.#target = target;
    this.#options = options;
    this.#writer = new CellWriter(store.table(target), options);
    const { filter } = options;
    const random = (below: number): number => work.env.random.int(below);
    this.#filter = filter === undefined ? null : filterMaker(filter)({ reversed: false, random });
  }

  async run(): Promise<ImportedTable> {
    const { format } = this.#from;
    const renames = Object.keys(this.#options.renameFamilies ?? {}).length > 0;
    if (format === 'hfile' && this.#filter === null && !renames) await this.#bulkLoad();
    else await this.#writeAll();
    return {
      table: this.#target,
      puts: this.#writer.puts,
      deletes: this.#writer.deletes,
      filtered: this.#filtered,
      resumed: this.#resumed,
      tagsLost: this.#writer.tagsLost,
    };
  }

  async #bulkLoad(): Promise<void> {
    // A table without rows has no folder.
    if (this.#from.files.length === 0) return;
    const { cells } = await this.#store.admin.bulkLoad(this.#target, this.#from.dir);
    const counted = this.#exported();
    this.#writer.puts = counted?.puts ?? cells;
    this.#writer.deletes = counted?.deletes ?? 0;
  }

  /** What the export's manifest says of the table. */
  #exported(): ExportedTable | undefined {
    return this.#source.manifest?.tables.find(({ name }) => name === this.#from.name);
  }

  async #writeAll(): Promise<void> {
    const began = this.#progress();
    for (const [index, path] of this.#from.files.entries()) {
      if (index < began.file) {
        this.#resumed += this.#exported()?.files[index]?.cells ?? 0;
        continue;
      }
      await this.#writeFile(index, path, index === began.file ? began.cells : 0);
      await this.#note(index + 1, 0);
    }
    await this.#forget();
  }

  /** Writes the cells of a file behind the first `skip`. */
  async #writeFile(index: number, path: string, skip: number): Promise<void> {
    const { batch = BATCH_CELLS } = this.#options;
    let seen = 0;
    let noted = skip;
    let pending: Uint8Array[] = [];
    for await (const cells of readCells(this.#work.env, this.#from.format, path)) {
      for (const cell of cells) {
        seen++;
        if (seen <= skip) {
          this.#resumed++;
          continue;
        }
        pending.push(cell);
        if (pending.length < batch) continue;
        await this.#writeOrNote(pending, index, seen);
        pending = [];
        if (seen - noted < NOTE_EVERY) continue;
        await this.#note(index, seen);
        noted = seen;
      }
    }
    await this.#write(pending);
  }

  /** A stop is noticed once the cells are written: the next run goes on behind them. */
  async #writeOrNote(cells: readonly Uint8Array[], index: number, seen: number): Promise<void> {
    try {
      await this.#write(cells);
    } catch (error) {
      if (error instanceof InterruptedIOException) await this.#note(index, seen);
      throw error;
    }
  }

  get #setting(): string {
    return `import.${this.#source.id}.${this.#target}`;
  }

  /** Where an earlier run stopped. */
  #progress(): { readonly file: number; readonly cells: number } {
    const none = { file: 0, cells: 0 };
    if (!(this.#store instanceof EmbeddedConnection)) return none;
    const value = this.#store.server.manifest.get('setting', this.#setting)?.value;
    const match = /^(\d+):(\d+)$/.exec(value ?? '');
    return match === null ? none : { file: Number(match[1]), cells: Number(match[2]) };
  }

  async #note(file: number, cells: number): Promise<void> {
    if (!(this.#store instanceof EmbeddedConnection)) return;
    // What it says is written must be on the disk.
    await this.#store.sync();
    const edit = put('setting', { name: this.#setting, value: `${file}:${cells}` });
    await this.#store.server.manifest.commit([edit]);
  }

  async #forget(): Promise<void> {
    if (!(this.#store instanceof EmbeddedConnection)) return;
    await this.#store.server.manifest.commit([remove('setting', this.#setting)]);
  }

  async #write(cells: readonly Uint8Array[]): Promise<void> {
    const kept = this.#filter === null ? cells : cells.filter((cell) => !this.#isFiltered(cell));
    this.#filtered += cells.length - kept.length;
    await this.#writer.write(kept);
    this.#work.cells += cells.length;
    await this.#work.step(cells.reduce((sum, cell) => sum + cell.length, 0));
  }

  #isFiltered(cell: Uint8Array): boolean {
    const filter = this.#filter!;
    this.#view.setKeyValue(cell, 0, cell.length);
    const { rowAt, rowLength } = this.#view;
    const row = cell.subarray(rowAt, rowAt + rowLength);
    if (Buffer.compare(row, this.#row) !== 0) {
      this.#row = row;
      filter.reset();
      this.#isRowFiltered = filter.filterRowKey(this.#view);
    }
    return this.#isRowFiltered || !isIncluded(filter.filterCell(this.#view));
  }
}
