/**
 * A device of so many bytes for one allocator, with addresses that are never used twice, and a memory of what it
 * refused.
 */
import type { Driver } from '../caching/driver.js';
import { RESERVATION_FACTOR } from '../caching/expandable-segments.js';

/** No limit at all; reservations of address space still need a size. */
const UNLIMITED_TOTAL_BYTES = 2 ** 40;

export class BudgetDriver implements Driver {
  /** May change while the driver is in use: others take memory of the device, too. */
  budgetBytes: number;
  /** cudaMalloc and cuMemMap calls that succeeded, cudaFree and cuMemUnmap calls. */
  calls = 0;
  /** cudaFree calls: each waits for the device. */
  frees = 0;
  /** What was asked for last and refused, and what was free then. */
  refusedBytes = 0;
  freeAtRefusal = 0;
  /** Of the device: address space is reserved in proportion. */
  private readonly totalBytes: number;
  private heldBytes: number;
  private nextAddress: number;
  private readonly descends: boolean;

  /** `heldBytes`: what the allocator holds from the start. Addresses go up from `address`, or down from it. */
  constructor(
    budgetBytes: number,
    heldBytes: number,
    address: number,
    direction: 'ascending' | 'descending',
    /** Address space that the recorded allocator reserves at a time; Infinity = not known. */
    reservationBytes: number,
    /** Of the device, where it is known; else the budget is taken for it. */
    totalBytes?: number,
  ) {
    const known = Number.isFinite(reservationBytes) ? reservationBytes / RESERVATION_FACTOR : 0;
    this.totalBytes =
      totalBytes ??
      Math.max(known, Number.isFinite(budgetBytes) ? budgetBytes : known === 0 ? UNLIMITED_TOTAL_BYTES : 0);
    this.budgetBytes = budgetBytes;
    this.heldBytes = heldBytes;
    this.nextAddress = address;
    this.descends = direction === 'descending';
  }

  malloc(bytes: number): number | null {
    return this.take(bytes) ? this.reserve(bytes) : null;
  }

  map(_addr: number, bytes: number): boolean {
    return this.take(bytes);
  }

  free(_addr: number, bytes: number): void {
    this.frees += 1;
    this.giveBack(bytes);
  }

  unmap(_addr: number, bytes: number): void {
    this.giveBack(bytes);
  }

  private giveBack(bytes: number): void {
    this.calls += 1;
    this.heldBytes -= bytes;
  }

  reserve(bytes: number): number {
    if (this.descends) {
      this.nextAddress -= bytes;
      return this.nextAddress;
    }
    const address = this.nextAddress;
    this.nextAddress += bytes;
    return address;
  }

  memory() {
    const isLimited = Number.isFinite(this.budgetBytes);
    return {
      totalBytes: this.totalBytes,
      freeBytes: isLimited ? this.budgetBytes - this.heldBytes : UNLIMITED_TOTAL_BYTES,
      processBytes: this.heldBytes,
    };
  }

  private take(bytes: number): boolean {
    if (this.heldBytes + bytes > this.budgetBytes) {
      this.refusedBytes = bytes;
      this.freeAtRefusal = this.budgetBytes - this.heldBytes;
      return false;
    }
    this.calls += 1;
    this.heldBytes += bytes;
    return true;
  }
}
