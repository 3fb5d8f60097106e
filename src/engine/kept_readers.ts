/**
 * Readers that live on from read to read, one a region or store, as long as its memstores and files stay what they are. While
 * one waits in the middle of a read, others make their own for the time being.
 */
export interface KeptReader<Reader> {
  readonly reader: Reader;
  readonly layoutVersion: number;
  /** In the middle of a read. Set by whoever waits for it. */
  isBusy: boolean;
}

export class KeptReaders<Key extends object, Reader extends { close(): void }> {
  readonly #known = new WeakMap<Key, KeptReader<Reader>>();
  readonly #make: (key: Key, isKept: boolean) => Reader;

  /** `make` gets a reader that is kept, or serves one read only. */
  constructor(make: (key: Key, isKept: boolean) => Reader) {
    this.#make = make;
  }

  /** The reader of the layout as it is now. Behind each read: `done`. */
  of(key: Key, layoutVersion: number): KeptReader<Reader> {
    const known = this.#known.get(key);
    if (known?.layoutVersion === layoutVersion) {
      if (!known.isBusy) return known;
      return { reader: this.#make(key, false), layoutVersion, isBusy: false };
    }
    const made = { reader: this.#make(key, true), layoutVersion, isBusy: false };
    if (known?.isBusy === false) known.reader.close();
    this.#known.set(key, made);
    return made;
  }

  /** Closes a reader that served one read only, or was replaced meanwhile. */
  done(key: Key, used: KeptReader<Reader>): void {
    if (this.#known.get(key) !== used) used.reader.close();
  }

  /** The layout has changed: lets go of the files that the reader holds. */
  forget(key: Key): void {
    const known = this.#known.get(key);
    this.#known.delete(key);
    if (known?.isBusy === false) known.reader.close();
  }
}
