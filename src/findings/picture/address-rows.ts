/** Rows of the address map: all ranges of addresses that were ever reserved, without the gaps between them. Pure. */
import type { Band } from '../../model/picture/page-data.js';

/** Ranges in any order; they may overlap. */
export function addressBands(addresses: Float64Array, bytes: Float64Array): Band[] {
  const order = Array.from(addresses.keys()).sort((a, b) => addresses[a]! - addresses[b]!);
  const bands: { place: number; bytes: number; address: number }[] = [];
  for (const i of order) {
    const end = addresses[i]! + bytes[i]!;
    const last = bands.at(-1);
    if (last !== undefined && addresses[i]! <= last.address + last.bytes)
      last.bytes = Math.max(last.bytes, end - last.address);
    else bands.push({ place: 0, bytes: bytes[i]!, address: addresses[i]! });
  }
  let place = 0;
  for (const band of bands) {
    band.place = place;
    place += band.bytes;
  }
  return bands;
}

/** Place of an address in the rows; undefined outside every band. */
export function placeOf(bands: readonly Band[], address: number): number | undefined {
  let low = 0;
  let high = bands.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bands[middle]!.address <= address) low = middle + 1;
    else high = middle;
  }
  const band = bands[low - 1];
  return band === undefined || address >= band.address + band.bytes ? undefined : band.place + address - band.address;
}
