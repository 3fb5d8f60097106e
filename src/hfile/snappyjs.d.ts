/** snappyjs brings no types. */
declare module 'snappyjs' {
  const snappy: {
    compress(data: Uint8Array): Uint8Array;
    uncompress(data: Uint8Array, sizeMax?: number): Uint8Array;
  };
  export default snappy;
}
