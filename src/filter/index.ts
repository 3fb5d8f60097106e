export * from './filter.ts';
export * from './builders.ts';
export { FILTER_TYPES, filterMaker } from './build.ts';
export { comparatorOf, comparisonOf } from './build_comparator.ts';
export type { Comparator, Comparison } from './comparators.ts';
export { filterFromJson, filterToJson } from './json.ts';
export { parseFilter } from './language.ts';
export { LANGUAGE_FILTERS } from './language_filters.ts';
export { Meter } from './meter.ts';
