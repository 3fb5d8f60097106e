/**
 * `ColumnCountOnRowFilter`: the first cells of each row and family. HBase has it among the classes that its client's tests
 * bring along, and in its packages for such tests; it is understood here so that they can run against Cellar.
 */
import { u32 } from '../cell/index.ts';
import { BaseFilter, FILTER_INCLUDE, FILTER_NEXT_ROW } from '../filter/index.ts';
import type { FilterCode } from '../filter/index.ts';
import { DoNotRetryIOException } from '../model/index.ts';
import type { FilterSpec } from '../model/index.ts';

/** Java class name. */
export const COUNT_ON_ROW_FILTER = 'org.apache.hadoop.hbase.client.ColumnCountOnRowFilter';

/** Its serialized form is the limit, 4 bytes. */
export function countOnRowFilter(body: Uint8Array): FilterSpec {
  if (body.length !== 4) {
    throw new DoNotRetryIOException(`${COUNT_ON_ROW_FILTER} has ${body.length} bytes, not 4`);
  }
  const limit = u32(body, 0);
  return { type: 'CustomFilter', make: () => new CountOnRowFilter(limit) };
}

class CountOnRowFilter extends BaseFilter {
  readonly #limit: number;
  #count = 0;

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  override filterCell(): FilterCode {
    return ++this.#count > this.#limit ? FILTER_NEXT_ROW : FILTER_INCLUDE;
  }

  override reset(): void {
    this.#count = 0;
  }
}
