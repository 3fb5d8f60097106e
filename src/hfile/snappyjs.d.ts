/** snappyjs brings no types. */
declare module 'snappyjs' {
  const snappy: {
    compress(data: Uint8Array): Uint8Array;
    uncompress(data: Uint8Array, sizeMax?: number): Uint8Array;
  };
  // eslint-disable-next-line no-restricted-exports -- What the package exports is not ours to choose.
  export default snappy;
}
