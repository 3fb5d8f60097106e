/** Which limit of the machine binds which work, in the unit of that work. */
import type { PhysicalLimit } from './workload.ts';

const ROW = 116;
const BLOCK = 65536;

/** One sync for each write. */
export const SYNC_EACH: PhysicalLimit = {
  what: 'sync loop',
  of: ({ syncsPerSecond }) => syncsPerSecond,
};

/** One sync for all that 64 callers wait for. */
export const SYNC_FOR_64: PhysicalLimit = {
  what: 'sync loop, 64 to a sync',
  of: ({ syncsPerSecond }) => 64 * syncsPerSecond,
};

/** Rows written to the disk once. */
export const DISK_WRITE: PhysicalLimit = {
  what: 'sequential disk rate, each row once',
  of: ({ diskWriteBytesPerSecond }) => diskWriteBytesPerSecond / ROW,
};

export const LARGE_DISK_WRITE: PhysicalLimit = {
  what: 'sequential disk rate, each row once',
  of: ({ diskWriteBytesPerSecond }, { largeLength }) =>
    diskWriteBytesPerSecond / (largeLength + 16),
};

/** A row copied out of memory that the processor's caches do not hold. */
export const RANDOM_COPY: PhysicalLimit = {
  what: 'copies of a row from random places in memory',
  of: ({ randomCopiesPerSecond }) => randomCopiesPerSecond,
};

export const MEMORY_COPY: PhysicalLimit = {
  what: 'memcpy of the rows',
  of: ({ copyBytesPerSecond }) => copyBytesPerSecond / ROW,
};

export const LARGE_COPY: PhysicalLimit = {
  what: 'memcpy of the rows',
  of: ({ copyBytesPerSecond }, { largeLength }) => copyBytesPerSecond / (largeLength + 16),
};

/** What cannot be left out of a read that finds its block not in the cache, wherever the system has its bytes. */
export const BLOCK_READ: PhysicalLimit = {
  what: 'copy and checksum of one block of 64 KiB',
  of: ({ copyBytesPerSecond, checksumBytesPerSecond }) =>
    1e6 * BLOCK * (1 / copyBytesPerSecond + 1 / checksumBytesPerSecond),
};
