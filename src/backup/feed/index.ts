export { changesOf } from './change_feed.ts';
export type {
  Change,
  ChangeCell,
  ChangeType,
  ChangesOptions,
  CommitChange,
  GapChange,
  WatermarkChange,
} from './change.ts';
export { FEED_FORMATS, FEED_MODES, FeedFormatter } from './formats.ts';
export type { FeedEncoding, FeedFormat, FeedMode, FormatOptions } from './formats.ts';
