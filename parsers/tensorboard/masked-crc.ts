import crc32c from 'crc-32/crc32c.js';

/**
 * CRC-32C as TFRecord stores it: rotated and with a constant added, so that a checksum over data that holds checksums
 * keeps its strength. Upstream: tensorflow `tsl/lib/hash/crc32c.h`, `Mask`.
 */
export function maskCrc(crc: number): number {
  const bits = crc >>> 0;
  return (((bits >>> 15) | (bits << 17)) + 0xa282ead8) >>> 0;
}

/** CRC-32C of the next bytes; `seed` is what it was before them. */
export function continueCrc(data: Uint8Array, seed: number): number {
  return crc32c.buf(data, seed);
}

export function maskedCrc(data: Uint8Array): number {
  return maskCrc(crc32c.buf(data));
}
