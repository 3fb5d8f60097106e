/** Cells as they come from an export or a log, written into a table as puts and deletes with the timestamps they had. */
import { toStringBinary, u16, u32, u64 } from '../cell/index.ts';
import type { CellInput, DeleteSpec, Durability, Mutation, Table } from '../model/index.ts';
import { PackedCell } from '../region/index.ts';
import { ExportFormatException } from './errors.ts';

const PUT = 4;
const DELETE = 8;
const DELETE_FAMILY_VERSION = 10;
const DELETE_COLUMN = 12;
const DELETE_FAMILY = 14;
const TAG_TTL = 8;

interface CellParts {
  readonly row: Uint8Array;
  readonly type: number;
  readonly input: CellInput;
}

export class CellWriter {
  readonly #table: Table;
  readonly #durability: Durability | undefined;
  readonly #renameFamilies: Readonly<Record<string, string>>;
  readonly #view = new PackedCell();
  puts = 0;
  deletes = 0;
  /** Tags other than TTL, which clients cannot write. */
  tagsLost = 0;

  constructor(
    table: Table,
    options: {
      readonly durability?: Durability | undefined;
      readonly renameFamilies?: Readonly<Record<string, string>> | undefined;
    } = {},
  ) {
    this.#table = table;
    this.#durability = options.durability;
    this.#renameFamilies = options.renameFamilies ?? {};
  }

  /**
   * Writes KeyValues, whose bytes must not change meanwhile; those of one row that follow each other become one put. Throws
   * what the first mutation that failed threw.
   */
  async write(cells: readonly Uint8Array[]): Promise<void> {
    const mutations: Mutation[] = [];
    let row: Uint8Array | null = null;
    let values: CellInput[] = [];
    const endRow = (): void => {
      if (row !== null && values.length > 0) mutations.push(this.#putOf(row, values));
      values = [];
    };
    for (const cell of cells) {
      const parts = this.#partsOf(cell);
      if (row === null || Buffer.compare(row, parts.row) !== 0) {
        endRow();
        row = parts.row;
      }
      if (parts.type === PUT) {
        values.push(parts.input);
        this.puts++;
      } else {
        mutations.push({ delete: parts.row, spec: this.#deleteOf(parts) });
        this.deletes++;
      }
    }
    endRow();
    if (mutations.length === 0) return;
    const outcomes = await this.#table.batch(mutations);
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.error;
  }

  #putOf(row: Uint8Array, values: readonly CellInput[]): Mutation {
    const durability = this.#durability;
    return { put: row, values, ...(durability === undefined ? {} : { options: { durability } }) };
  }

  #partsOf(cell: Uint8Array): CellParts {
    const view = this.#view;
    view.setKeyValue(cell, 0, cell.length);
    const familyAt = view.rowAt + view.rowLength + 1;
    const name = Buffer.from(cell.subarray(familyAt, view.qualifierAt)).toString('latin1');
    const ttl = this.#ttlOf(cell);
    return {
      row: cell.subarray(view.rowAt, view.rowAt + view.rowLength),
      type: cell[view.timestampAt + 8]!,
      input: {
        family: this.#renameFamilies[name] ?? name,
        qualifier: cell.subarray(view.qualifierAt, view.timestampAt),
        value: cell.subarray(view.valueAt, view.valueAt + view.valueLength),
        ts: u64(cell, view.timestampAt),
        ...(ttl === null ? {} : { ttl }),
      },
    };
  }

  #ttlOf(cell: Uint8Array): number | null {
    const { tagsAt, tagsLength } = this.#view;
    let ttl: number | null = null;
    for (let at = tagsAt; at < tagsAt + tagsLength; at += 2 + u16(cell, at)) {
      if (cell[at + 2] === TAG_TTL) ttl = u32(cell, at + 3) * 0x100000000 + u32(cell, at + 7);
      else this.tagsLost++;
    }
    return ttl;
  }

  #deleteOf({ row, type, input }: CellParts): DeleteSpec {
    const durability = this.#durability;
    const { family, qualifier, ts } = input;
    const common = { ts: ts!, ...(durability === undefined ? {} : { durability }) };
    switch (type) {
      case DELETE:
        return { ...common, versions: [[family, qualifier]] };
      case DELETE_COLUMN:
        return { ...common, columns: [[family, qualifier]] };
      case DELETE_FAMILY:
        return { ...common, families: [family] };
      case DELETE_FAMILY_VERSION:
        return { ...common, familyVersions: [family] };
      default:
        throw new ExportFormatException(`row ${toStringBinary(row)} has a cell of type ${type}`);
    }
  }
}
