/**
 * The figures of a store and its process in Prometheus' text format 0.0.4: for each metric a HELP line, a TYPE line and
 * its samples. Pure: figures in, text out.
 */
import type { HistoryStatus, StoreStatus } from '../model/index.ts';

/** Content type of the text. */
export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface ProcessFigures {
  readonly startTimeMs: number;
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
  readonly externalBytes: number;
  /** Delay of the event loop beyond what was asked for, since the last time it was read. */
  readonly eventLoopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number };
}

type MetricType = 'gauge' | 'counter';

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  /** Each sample is a value with its labels, as they stand in the text: '' or '{quantile="0.5"}'. */
  readonly samples: readonly (readonly [labels: string, value: number])[];
}

/** The whole text, ending in a line feed. */
export function metricsText(status: StoreStatus, figures: ProcessFigures): string {
  return [...storeMetrics(status), ...counterMetrics(status), ...processMetrics(figures)]
    .map(metricText)
    .join('');
}

function metricText(metric: Metric): string {
  const head = `# HELP ${metric.name} ${metric.help}\n# TYPE ${metric.name} ${metric.type}\n`;
  return (
    head +
    metric.samples.map(([labels, value]) => `${metric.name}${labels} ${number(value)}\n`).join('')
  );
}

/** Prometheus' spelling of a number. */
function number(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? '+Inf' : '-Inf';
}

const one = (name: string, help: string, type: MetricType, value: number): Metric => ({
  name,
  help,
  type,
  samples: [['', value]],
});

/** A TSO needs 64 bits and a sample is a double, so the text gives its physical part, in seconds. */
const physicalSeconds = (tso: bigint): number => Number(tso >> 18n) / 1000;

function storeMetrics(status: StoreStatus): Metric[] {
  const gauge = (name: string, help: string, value: number): Metric =>
    one(`cellar_${name}`, help, 'gauge', value);
  return [
    {
      name: 'cellar_info',
      help: 'Settings of the store.',
      type: 'gauge',
      samples: [[`{durability="${label(status.durability)}"}`, 1]],
    },
    gauge('writable', '0 when the store takes no writes any more.', status.fatal === null ? 1 : 0),
    gauge('tables', 'Tables.', status.tables),
    gauge('regions', 'Regions.', status.regions),
    gauge('memstore_cells', 'Cells in memstores.', status.memstoreCells),
    gauge('memstore_bytes', 'Bytes of cells in memstores.', status.memstoreBytes),
    gauge(
      'memstore_heap_bytes',
      'Bytes that memstores take, indexes included.',
      status.memstoreHeapBytes,
    ),
    gauge('memstore_limit_bytes', 'Bytes at which writers wait.', status.memstoreLimitBytes),
    gauge('log_bytes', 'Bytes of the log that are needed.', status.logBytes),
    gauge(
      'read_point_seconds',
      'Physical part of the newest commit that readers see.',
      physicalSeconds(status.readPoint),
    ),
    gauge(
      'durable_point_seconds',
      'Physical part of the newest commit on the disk.',
      physicalSeconds(status.durablePoint),
    ),
    ...historyMetrics(status.history),
  ];
}

function historyMetrics(history: HistoryStatus): Metric[] {
  const gauge = (name: string, help: string, value: number): Metric =>
    one(`cellar_${name}`, help, 'gauge', value);
  const { oldestReaderTso } = history;
  return [
    gauge('history_bytes', 'Bytes of history files.', history.bytes),
    gauge('history_files', 'History files.', history.files),
    gauge('dropped_tables', 'Tables dropped that are still kept.', history.droppedTables),
    gauge('dropped_tables_bytes', 'Bytes of their files.', history.droppedBytes),
    gauge(
      'oldest_readable_seconds',
      'Physical part of the oldest moment that may be read.',
      physicalSeconds(history.oldestReadableTso),
    ),
    ...(oldestReaderTso === null
      ? []
      : [
          gauge(
            'oldest_reader_seconds',
            'Physical part of the oldest moment that a scan, pin or hold needs.',
            physicalSeconds(oldestReaderTso),
          ),
        ]),
  ];
}

/** `rowsRead` becomes `cellar_rows_read_total`. */
function counterMetrics(status: StoreStatus): Metric[] {
  return Object.entries(status.counters)
    .map(([name, value]) =>
      one(`cellar_${counterName(name)}`, `Counter ${name} since the opening.`, 'counter', value),
    )
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function counterName(name: string): string {
  const snake = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9_]/g, '_')
    .toLowerCase();
  return snake.endsWith('_total') ? snake : `${snake}_total`;
}

/** A label's value: backslash, quote and line feed are escaped. */
function label(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function processMetrics(figures: ProcessFigures): Metric[] {
  const { p50, p99, max } = figures.eventLoopDelayMs;
  return [
    one('process_cpu_seconds_total', 'CPU time, user and system.', 'counter', figures.cpuSeconds),
    one(
      'process_start_time_seconds',
      'Start of the process, Unix seconds.',
      'gauge',
      figures.startTimeMs / 1000,
    ),
    one('process_resident_memory_bytes', 'Resident memory.', 'gauge', figures.residentBytes),
    one('nodejs_heap_size_used_bytes', 'Heap in use.', 'gauge', figures.heapUsedBytes),
    one('nodejs_heap_size_total_bytes', 'Heap taken.', 'gauge', figures.heapTotalBytes),
    one('nodejs_external_memory_bytes', 'Memory outside the heap.', 'gauge', figures.externalBytes),
    {
      name: 'nodejs_eventloop_delay_seconds',
      help: 'Delay of the event loop since the last time it was read.',
      type: 'gauge',
      samples: [
        ['{quantile="0.5"}', p50 / 1000],
        ['{quantile="0.99"}', p99 / 1000],
        ['{quantile="1"}', max / 1000],
      ],
    },
  ];
}
