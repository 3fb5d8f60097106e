/**
 * MultiRowMutationService.MutateRows: mutations of several rows of one region, all or nothing.
 *
 *     MutateRowsRequest   1 mutation_request · 2 nonce_group · 3 nonce · 4 region · 5 condition
 *     MutateRowsResponse  1 processed
 */
import type { ByteCondition, ByteMutation, ByteRows } from '../../../engine/index.ts';
import { CellBlock, readCondition, readMutation } from '../../../wire/index.ts';
import type { ProtoReader } from '../../../wire/index.ts';
import { RemoteException } from '../exceptions.ts';
import { checkRowInRegion } from './regions.ts';
import type { FoundRegion } from './regions.ts';

const NO_GROUP = { high: 0, low: 0 };

/** Runs the MutateRowsRequest that the reader has begun; whether its conditions held. */
export async function mutateRowsOf(
  found: FoundRegion,
  rows: ByteRows,
  reader: ProtoReader,
): Promise<boolean> {
  const mutations: ByteMutation[] = [];
  const conditions: ByteCondition[] = [];
  while (reader.next()) {
    if (reader.field === 1) {
      mutations.push(readMutation(reader.message(), new CellBlock(null), NO_GROUP));
    } else if (reader.field === 5) conditions.push(readCondition(reader.message()));
    else reader.skip();
  }
  for (const [index, { row }] of mutations.entries()) {
    if (index === 0) checkRowInRegion(row, found, 'mutateRows');
    else if (!found.region.contains(row)) {
      throw new RemoteException(
        'DoNotRetryIOException',
        'Rows of one MutateRows are not in the same region',
      );
    }
  }
  const { processed } = await rows.mutateRows(found.table, mutations, conditions);
  return processed;
}
