/** CRC-32C (Castagnoli), bit by bit: event files are small. */
const POLYNOMIAL = 0x82f6_3b78;

function crc32c(bytes: Uint8Array): number {
  let crc = 0xffff_ffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (POLYNOMIAL & -(crc & 1));
  }
  return ~crc >>> 0;
}

/**
 * Rotated and shifted, so that a checksum of bytes that hold checksums says something. Upstream: tensorflow
 * `core/lib/hash/crc32c.h`.
 */
export function maskedCrc32c(bytes: Uint8Array): number {
  const crc = crc32c(bytes);
  return (((crc >>> 15) | (crc << 17)) + 0xa282_ead8) >>> 0;
}
