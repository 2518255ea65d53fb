/** The package declares its plain CRC-32 only. */
declare module 'crc-32/crc32c.js' {
  const crc32c: {
    /** CRC-32C (Castagnoli) as a signed 32-bit integer; `seed` is the result for what came before. */
    buf(data: Uint8Array, seed?: number): number;
  };
  export default crc32c;
}
