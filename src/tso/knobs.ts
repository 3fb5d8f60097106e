/** The oracle's knobs, named as Apache Doris and StarRocks name them. */
import { IllegalArgumentException } from '../model/index.ts';

export interface TsoKnobs {
  /** Keeps archived log for the change feed. Not changeable while open. */
  readonly enable_feature_binlog: boolean;
  /** How long archived log is kept for the feed, if it is kept. */
  readonly binlog_ttl_seconds: number;
  /** Not changeable while open. */
  readonly tso_service_update_interval_ms: number;
  /** Tries of one save; below 1 acts as 1. */
  readonly tso_max_update_retry_count: number;
  /** Tries of one allocation that finds no room; below 1 acts as 1. */
  readonly tso_max_get_retry_count: number;
  readonly tso_service_window_duration_ms: number;
  /** A clock further behind the last stamp than this stops writing. */
  readonly tso_clock_backward_startup_threshold_ms: number;
  /** Tests only: added to the clock. */
  readonly tso_time_offset_debug_mode: number;
  readonly enable_tso_forward_when_counter_full: boolean;
  /** The longest wait of a read as of a TSO above the read point. */
  readonly change_visible_timeout_ms: number;
}

export const TSO_KNOB_DEFAULTS: TsoKnobs = {
  enable_feature_binlog: false,
  binlog_ttl_seconds: 86_400,
  tso_service_update_interval_ms: 50,
  tso_max_update_retry_count: 3,
  tso_max_get_retry_count: 10,
  tso_service_window_duration_ms: 1000,
  tso_clock_backward_startup_threshold_ms: 1_800_000,
  tso_time_offset_debug_mode: 0,
  enable_tso_forward_when_counter_full: true,
  change_visible_timeout_ms: 10_000,
};

const FIXED: ReadonlySet<string> = new Set([
  'enable_feature_binlog',
  'tso_service_update_interval_ms',
]);
/** Knobs that may be zero or negative. */
const SIGNED: ReadonlySet<string> = new Set([
  'tso_max_update_retry_count',
  'tso_max_get_retry_count',
  'tso_time_offset_debug_mode',
]);
const ZERO_ALLOWED: ReadonlySet<string> = new Set([
  'tso_clock_backward_startup_threshold_ms',
  'change_visible_timeout_ms',
]);
const INT_LIMIT: number = 2 ** 31;

/** The knobs with defaults filled in. Throws IllegalArgumentException naming the knob. */
export function checkKnobs(given: Partial<TsoKnobs>): TsoKnobs {
  for (const [name, value] of Object.entries(given)) checkKnob(name, value);
  return { ...TSO_KNOB_DEFAULTS, ...given };
}

/** The knobs with one changed while the store is open. */
export function changeKnob(knobs: TsoKnobs, name: string, value: unknown): TsoKnobs {
  if (FIXED.has(name)) {
    throw new IllegalArgumentException(`${name} cannot be changed while the store is open`);
  }
  checkKnob(name, value);
  return { ...knobs, [name]: value };
}

function checkKnob(name: string, value: unknown): void {
  if (!Object.hasOwn(TSO_KNOB_DEFAULTS, name)) {
    throw new IllegalArgumentException(`no knob is named ${name}`);
  }
  const wanted = typeof TSO_KNOB_DEFAULTS[name as keyof TsoKnobs];
  if (typeof value !== wanted) throw new IllegalArgumentException(`${name} must be a ${wanted}`);
  if (typeof value !== 'number') return;
  const least = SIGNED.has(name) ? -INT_LIMIT : ZERO_ALLOWED.has(name) ? 0 : 1;
  if (!Number.isInteger(value) || value < least || value >= INT_LIMIT) {
    throw new IllegalArgumentException(
      `${name} must be an integer from ${least} to ${INT_LIMIT - 1}, not ${value}`,
    );
  }
}
