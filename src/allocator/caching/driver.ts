/**
 * The device memory below the allocator. The driver maps 2 MiB pages anywhere, so cudaMalloc succeeds if and only if
 * enough bytes are free; device-level external fragmentation does not exist.
 */
import type { PoolId } from './block.js';

/** The values of cudaMemGetInfo and NVML. */
export interface DriverMemory {
  readonly totalBytes: number;
  readonly freeBytes: number;
  /** Everything this process holds: the allocator's segments plus context, NCCL and library buffers. */
  readonly processBytes: number;
}

/** Whose address space a reservation is. */
export interface Reservation {
  readonly stream: number;
  readonly poolId: PoolId;
  readonly kind: 'small' | 'large';
}

/** What a flush would free, wholly free segments in its order. */
export interface FreeSegments {
  readonly large: readonly number[];
  readonly small: readonly number[];
  /** It would wait for pending frees before. */
  readonly waits: boolean;
}

/** What the allocator asks of the device. A verifying replay supplies its own, which hands out recorded addresses. */
export interface Driver {
  /** cudaMalloc: the address, or null if the device lacks the memory. `bytes` is a multiple of 2 MiB. */
  malloc(bytes: number): number | null;
  /** cudaFree of a whole segment. */
  free(addr: number, bytes: number): void;
  /** cuMemAddressReserve: address space without memory. A multiple of 2 MiB, not of the page unit. */
  reserve(bytes: number, reservation: Reservation): number;
  /** cuMemCreate and cuMemMap of all pages in the range, or none: false if the device lacks the memory. */
  map(addr: number, bytes: number): boolean;
  unmap(addr: number, bytes: number): void;
  /**
   * Whether a failing request gives everything back that can be; default true. A replay knows from the record where a
   * capture forbade it.
   */
  mayFlush?(): boolean;
  /** Whether a flush waits for pending frees; default true. As for {@link mayFlush}. */
  mayWait?(): boolean;
  /**
   * Addresses of the segments that garbage collection frees now, where the limit that it depends on is not known: a
   * replay takes them from the record.
   */
  garbage?(free: () => FreeSegments): readonly number[];
  /** Everything that can be given back has been: what is asked next is asked for the last time. */
  lastAttempt?(): void;
  memory(): DriverMemory;
}
