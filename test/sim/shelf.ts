/** The snapshots of tables that a run has made, with the descriptors that they keep. */
import type { FamilyRules } from './model.ts';

/** A table as a snapshot keeps it. */
export interface ShelvedTable {
  readonly name: string;
  readonly families: readonly FamilyRules[];
  readonly durability: string;
}

export interface Shelved {
  readonly name: string;
  readonly tables: readonly ShelvedTable[];
}

export class Shelf {
  readonly #made = new Map<string, Shelved>();
  /** Snapshots whose making or removal was under way when the life ended. */
  readonly unsure = new Map<string, Shelved>();

  get(name: string): Shelved | undefined {
    return this.#made.get(name);
  }

  all(): Shelved[] {
    return [...this.#made.values()];
  }

  made(snapshot: Shelved): void {
    this.#made.set(snapshot.name, snapshot);
  }

  gone(name: string): void {
    this.#made.delete(name);
  }

  /** After an opening: what is wrong with the snapshots that there are, null if nothing is. */
  settle(names: readonly string[]): string | null {
    for (const name of this.#made.keys()) {
      if (!names.includes(name) && !this.unsure.has(name)) return `snapshot ${name} is gone`;
    }
    for (const name of names) {
      const snapshot = this.unsure.get(name) ?? this.#made.get(name);
      if (snapshot === undefined) return `snapshot ${name} is back`;
      this.#made.set(name, snapshot);
    }
    for (const name of this.unsure.keys()) if (!names.includes(name)) this.#made.delete(name);
    this.unsure.clear();
    return null;
  }
}
