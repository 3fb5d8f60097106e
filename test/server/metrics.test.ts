import { expect, test } from 'vitest';
import { metricsText } from '../../src/server/metrics.ts';
import { STATUS } from './fake_connection.ts';

const FIGURES = {
  startTimeMs: 1_500,
  cpuSeconds: 2.5,
  residentBytes: 100,
  heapUsedBytes: 10,
  heapTotalBytes: 20,
  externalBytes: 5,
  eventLoopDelayMs: { p50: 0, p99: 1.5, max: Number.NaN },
};

test('each metric has its help, its type and its samples, once', () => {
  const lines = metricsText(STATUS, FIGURES).split('\n');
  expect(lines.at(-1)).toBe('');
  const names = lines
    .filter((line) => line.startsWith('# TYPE '))
    .map((line) => line.split(' ')[2]);
  expect(new Set(names).size).toBe(names.length);
  for (const line of lines.slice(0, -1).filter((text) => !text.startsWith('#'))) {
    expect(line).toMatch(/^[a-z_]+(\{[a-z]+="[^"]*"\})? (NaN|[-+]?[0-9.e+-]+)$/);
    expect(names).toContain(/^[a-z_]+/.exec(line)![0]);
  }
});

test('values, labels and counter names', () => {
  const text = metricsText({ ...STATUS, durability: 'a"b\\c\nd' }, FIGURES);
  expect(text).toContain('cellar_info{durability="a\\"b\\\\c\\nd"} 1\n');
  expect(text).toContain('# TYPE cellar_rows_read_total counter\ncellar_rows_read_total 7\n');
  expect(text).toContain('cellar_memstore_bytes 4096\n');
  // 468412345614336017 >> 18 = 1786851294000 (milliseconds).
  expect(text).toContain('cellar_read_point_seconds 1786851294\n');
  expect(text).toContain('process_start_time_seconds 1.5\n');
  expect(text).toContain('nodejs_eventloop_delay_seconds{quantile="0.99"} 0.0015\n');
  expect(text).toContain('nodejs_eventloop_delay_seconds{quantile="1"} NaN\n');
  expect(text).toContain('cellar_writable 1\n');
  expect(metricsText({ ...STATUS, fatal: 'log' }, FIGURES)).toContain('cellar_writable 0\n');
});
