/**
 * When a region is split by itself, and where: HBase's policies, named in a table's SPLIT_POLICY, or in its configuration
 * as HBase has it. The prefix policies also cut the keys of splits by hand, so that no group of rows is torn apart.
 */
import { DoNotRetryIOException } from '../model/index.ts';
import type { TableSchema } from '../model/index.ts';

/** HBase: hbase.regionserver.regionSplitLimit and the like do not bind us; this does in IncreasingToUpperBound. */
const REGIONS_OF_CUBE_MAX = 100;
const PREFIX_LENGTH_NAMES: readonly string[] = [
  'KeyPrefixRegionSplitPolicy.prefix_length',
  'prefix_split_key_policy.prefix_length',
];
const DELIMITER_NAME = 'DelimitedKeyPrefixRegionSplitPolicy.delimiter';

export interface SplitPolicy {
  readonly name: string;
  /** Never by itself. */
  readonly isDisabled: boolean;
  /** Bytes of store files beyond which one of `regionCount` regions is split. */
  sizeMax(regionCount: number): number;
  /** The key at which a split at `row` is made. */
  splitRow(row: Uint8Array): Uint8Array;
}

export interface SplitSizes {
  readonly maxFileSizeBytes: number;
  readonly memstoreFlushSizeBytes: number;
}

const sameRow = (row: Uint8Array): Uint8Array => row;

/** The policy of a table. Throws DoNotRetryIOException for one that is unknown or lacks its setting. */
export function splitPolicyOf(schema: TableSchema, sizes: SplitSizes): SplitPolicy {
  const given = schema.attributes['SPLIT_POLICY'] ?? 'SteppingSplitPolicy';
  const name = given.replace(/^.*[.$]/, '');
  const { maxFileSizeBytes } = sizes;
  const initial = 2 * sizes.memstoreFlushSizeBytes;
  const increasing = (count: number): number =>
    count === 0 || count > REGIONS_OF_CUBE_MAX
      ? maxFileSizeBytes
      : Math.min(maxFileSizeBytes, initial * count ** 3);
  const constant = (): number => maxFileSizeBytes;
  switch (name) {
    case 'SteppingSplitPolicy': {
      const sizeMax = (count: number): number => (count === 1 ? initial : maxFileSizeBytes);
      return { name, isDisabled: false, sizeMax, splitRow: sameRow };
    }
    case 'ConstantSizeRegionSplitPolicy':
      return { name, isDisabled: false, sizeMax: constant, splitRow: sameRow };
    case 'IncreasingToUpperBoundRegionSplitPolicy':
    case 'BusyRegionSplitPolicy':
      return { name, isDisabled: false, sizeMax: increasing, splitRow: sameRow };
    case 'DisabledRegionSplitPolicy':
      return { name, isDisabled: true, sizeMax: constant, splitRow: sameRow };
    case 'KeyPrefixRegionSplitPolicy': {
      const length = prefixLengthOf(schema);
      const splitRow = (row: Uint8Array): Uint8Array => row.slice(0, length);
      return { name, isDisabled: false, sizeMax: increasing, splitRow };
    }
    case 'DelimitedKeyPrefixRegionSplitPolicy': {
      const delimiter = delimiterOf(schema);
      const splitRow = (row: Uint8Array): Uint8Array => {
        const at = Buffer.from(row.buffer, row.byteOffset, row.length).indexOf(delimiter);
        return at < 0 ? row : row.slice(0, at);
      };
      return { name, isDisabled: false, sizeMax: increasing, splitRow };
    }
    default:
      throw new DoNotRetryIOException(`SPLIT_POLICY ${given} of table ${schema.name} is unknown`);
  }
}

function prefixLengthOf(schema: TableSchema): number {
  for (const name of PREFIX_LENGTH_NAMES) {
    const length = Number(settingOf(schema, name) ?? 'none');
    if (Number.isSafeInteger(length) && length > 0) return length;
  }
  // HBase falls back to splits anywhere, and tears the groups apart that the policy was chosen for.
  throw new DoNotRetryIOException(
    `${PREFIX_LENGTH_NAMES[0]} of table ${schema.name} must be a positive number`,
  );
}

function delimiterOf(schema: TableSchema): Buffer {
  const delimiter = settingOf(schema, DELIMITER_NAME);
  if (delimiter === undefined || delimiter === '') {
    throw new DoNotRetryIOException(`${DELIMITER_NAME} of table ${schema.name} must be set`);
  }
  return Buffer.from(delimiter, 'utf8');
}

const settingOf = (schema: TableSchema, name: string): string | undefined =>
  schema.configuration[name] ?? schema.attributes[name];
