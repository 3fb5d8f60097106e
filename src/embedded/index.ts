export { Backups } from './backups.ts';
export { StoreConnection, open } from './open.ts';
export type { StoreOptions } from './open.ts';
export { KNOBS, findKnob, knobSet, knobsOfEnvironment } from './knobs.ts';
export type { KnobDescription, KnobSet, KnobValue } from './knobs.ts';
