export * from './bytes.ts';
export * from './crc32c.ts';
export * from './key_value.ts';
export * from './cell_source.ts';
