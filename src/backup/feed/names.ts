/** Tables and families by the ids that the log has, of dropped ones too. */
import type { Manifest } from '../../manifest/index.ts';
import { LEDGER_TABLE } from '../../txn/index.ts';

export interface NamedTable {
  readonly name: string;
  /** A table of the store's own: not for the feed. */
  readonly isHidden: boolean;
  readonly families: ReadonlyMap<number, string>;
}

export class FeedNames {
  readonly #manifest: Manifest;
  readonly #known = new Map<number, NamedTable>();

  constructor(manifest: Manifest) {
    this.#manifest = manifest;
  }

  table(id: number, familyId: number): NamedTable {
    const known = this.#known.get(id);
    // A family may have been added since.
    if (known?.families.has(familyId) === true) return known;
    const record = this.#manifest.get('table', id);
    const families = new Map<number, string>();
    for (const { familyIds } of record?.schemas ?? []) {
      for (const [name, familyIdOfName] of Object.entries(familyIds)) {
        families.set(familyIdOfName, name);
      }
    }
    const name = record?.name ?? known?.name ?? `#${id}`;
    const named = { name, isHidden: name === LEDGER_TABLE, families };
    this.#known.set(id, named);
    return named;
  }
}
