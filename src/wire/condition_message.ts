/**
 * Conditions from the wire (Client.proto: Condition).
 *
 *     1 row · 2 family · 3 qualifier · 4 compare_type · 5 comparator · 6 time_range · 7 filter
 */
import type { ByteCondition } from '../engine/index.ts';
import { Meter, comparatorOf, filterMaker } from '../filter/index.ts';
import { ALL_TIME, DoNotRetryIOException } from '../model/index.ts';
import type {
  ComparatorSpec,
  CompareOperator,
  FilterMaker,
  TimeRangeSpec,
} from '../model/index.ts';
import { compareOperatorOf, readComparator } from './comparator_message.ts';
import { readFilter } from './filter_message.ts';
import type { ProtoReader } from './proto_reader.ts';
import { latin1, readTimeRange } from './read_message.ts';

const EMPTY: Uint8Array = new Uint8Array(0);

/** Reads the Condition that the reader has begun. Throws DoNotRetryIOException and what filters throw. */
export function readCondition(reader: ProtoReader): ByteCondition {
  let row = EMPTY;
  let family: string | null = null;
  let qualifier = EMPTY;
  let operator: CompareOperator = 'EQUAL';
  let comparator: ComparatorSpec | null = null;
  let timeRange: TimeRangeSpec = ALL_TIME;
  let filter: FilterMaker | null = null;
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        row = reader.bytes();
        break;
      case 2:
        family = latin1(reader.bytes());
        break;
      case 3:
        qualifier = reader.bytes();
        break;
      case 4:
        operator = compareOperatorOf(reader.uint32());
        break;
      case 5:
        comparator = readComparator(reader.message());
        break;
      case 6:
        timeRange = readTimeRange(reader.message());
        break;
      case 7:
        filter = filterMaker(readFilter(reader.message(), 0));
        break;
      default:
        reader.skip();
    }
  }
  if (filter !== null) return { row, comparison: null, filter, timeRange };
  if (family === null || comparator === null) {
    throw new DoNotRetryIOException('A condition needs a filter, or a family and a comparator');
  }
  const comparison = {
    family,
    qualifier,
    operator,
    comparator: comparatorOf(comparator, new Meter()),
    isEmpty: isEmpty(comparator),
  };
  return { row, comparison, filter: null, timeRange };
}

/** Whether the comparator has no value: then the condition asks for absence. */
function isEmpty(comparator: ComparatorSpec): boolean {
  switch (comparator.type) {
    case 'NullComparator':
      return true;
    case 'RegexStringComparator':
      return comparator.pattern === '';
    case 'LongComparator':
      return false;
    default:
      return comparator.value.length === 0;
  }
}
