/** HFiles: reading, writing, and the cache of their blocks. */
export { BlockCache, CACHE_SIZE_DEFAULT, CacheFile } from './block_cache.ts';
export type {
  BlockCacheMetrics,
  BlockKind,
  BlockRequest,
  CachedBlock,
  CachePriority,
} from './block_cache.ts';
export { ENCODING_IDS, encodingNamed } from './block_decoding.ts';
export type { EncodingName } from './block_decoding.ts';
export { KeyHash } from './bloom.ts';
export type { BloomMeta, BloomType } from './bloom.ts';
export { BloomProbe, PROBE_ABSENT, PROBE_MAYBE, PROBE_WAIT } from './bloom_probe.ts';
export type { ProbeAnswer } from './bloom_probe.ts';
export { javascriptChecksums, loadChecksums } from './checksums.ts';
export type { Checksums } from './checksums.ts';
export { Codecs, compressionNamed } from './compression.ts';
export type { CompressionName } from './compression.ts';
export type { StreamCodec } from './codec_stream.ts';
export { hadoopClassOf, hadoopStreamOf, loadHadoopCodec } from './hadoop_codecs.ts';
export type { HadoopStream } from './hadoop_codecs.ts';
export { HFileCursor, READ_AHEAD_DEFAULT } from './cursor.ts';
export type { CursorOptions } from './cursor.ts';
export { prefixNumber, sharedLength } from './data_block.ts';
export type { FileStamp } from './data_block.ts';
export type { FileInfo, Trailer } from './metadata.ts';
export type { HFileProperties } from './properties.ts';
export { HFileReader } from './reader.ts';
export type { HFileReaderOptions } from './reader.ts';
export { RowFilters } from './row_filters.ts';
export { WatchedFile } from './watched_blocks.ts';
export type { BlockWatch } from './watched_blocks.ts';
export { BLOCK_SIZE_DEFAULT, HFileWriter } from './writer.ts';
export type { HFileSummary, HFileWriterOptions } from './writer.ts';
export { describeHFile, hfileText } from './describe.ts';
export type { BlockDescription, BloomDescription, HFileDescription } from './describe.ts';
