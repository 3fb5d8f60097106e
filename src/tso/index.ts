export * from './layout.ts';
export * from './knobs.ts';
export * from './metrics.ts';
export * from './oracle.ts';
export * from './persistence.ts';
export { FRESH_ORACLE } from './calibration.ts';
