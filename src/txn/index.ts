export { TRANSACTION_KNOB_DEFAULTS, checkTransactionKnobs } from './knobs.ts';
export type { TransactionKnobs } from './knobs.ts';
export { TransactionManager } from './manager.ts';
export type { ManagerOptions } from './manager.ts';
export { TransactionHandle } from './transaction.ts';
export { LEDGER_TABLE } from './ledger.ts';
export { TXN_LATENCY_BOUNDS_MS, TransactionMetrics } from './metrics.ts';
export { XaVerbs, labelOfXid, xaExceptionOf, xidOfLabel } from './xa.ts';
