/**
 * Where in an ArrayBuffer the bytes of a file are read to. Large ones begin 16 bytes behind the start of a page, and to
 * there Linux copies a fifth as fast on AMD's Zen (1.7 instead of 8 GB/s): `rep movsb` stalls if the target is a few
 * bytes further into its page than the source.
 */
export const READ_OFFSET = 64;

/** Memory for reading files into. */
export function readBuffer(bytes: number): Uint8Array {
  return Buffer.allocUnsafeSlow(READ_OFFSET + bytes).subarray(READ_OFFSET);
}
