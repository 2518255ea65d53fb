/**
 * The device memory below the allocator. The driver maps 2 MiB pages anywhere, so cudaMalloc succeeds if and only if
 * enough bytes are free; device-level external fragmentation does not exist.
 */
import { MbfError } from '../../model/errors.js';
import { LARGE_ROUND_BYTES } from '../settings.js';
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

export interface DriverOptions {
  readonly totalBytes: number;
  /** Memory of this process outside the allocator: CUDA context, NCCL, cuBLAS. Part of the same budget. */
  readonly nonTorchBytes?: number;
  readonly otherProcessBytes?: number;
  /** First address handed out (ascending), or the end of the first range (descending). A multiple of 2 MiB. */
  readonly baseAddress?: number;
  /**
   * Real cudaMalloc addresses are not monotonic, and address order breaks ties: a robust answer holds for both
   * directions.
   */
  readonly direction?: 'ascending' | 'descending';
}

export interface SimulatedDriver extends Driver {
  /**
   * Grows or shrinks the memory of this process outside the allocator; false (and no change) if the device lacks it.
   */
  setNonTorchBytes(bytes: number): boolean;
  /** The same for the other processes on the device. */
  setOtherProcessBytes(bytes: number): boolean;
}

/** A device with a byte budget and synthetic addresses that are never used twice. */
export function createDriver(options: DriverOptions): SimulatedDriver {
  const { totalBytes, baseAddress = 0x7f00_0000_0000, direction = 'ascending' } = options;
  let nonTorchBytes = options.nonTorchBytes ?? 0;
  let otherProcessBytes = options.otherProcessBytes ?? 0;
  let heldBytes = 0;
  let nextAddress = baseAddress;
  const freeBytes = (): number => totalBytes - otherProcessBytes - nonTorchBytes - heldBytes;
  if (baseAddress % LARGE_ROUND_BYTES !== 0)
    throw new MbfError('MBF9001', `driver model: base address ${baseAddress} is not 2 MiB aligned`);
  if (freeBytes() < 0) throw new MbfError('MBF9001', 'driver model: memory outside the allocator exceeds the device');
  const takeAddresses = (bytes: number): number => {
    if (direction === 'descending') {
      nextAddress -= bytes;
      return nextAddress;
    }
    const addr = nextAddress;
    nextAddress += bytes;
    return addr;
  };
  const takeMemory = (bytes: number): boolean => {
    if (bytes > freeBytes()) return false;
    heldBytes += bytes;
    return true;
  };
  const giveMemory = (_addr: number, bytes: number): void => {
    heldBytes -= bytes;
  };
  return {
    malloc: (bytes) => (takeMemory(bytes) ? takeAddresses(bytes) : null),
    free: giveMemory,
    reserve: takeAddresses,
    map: (_addr, bytes) => takeMemory(bytes),
    unmap: giveMemory,
    memory: () => ({ totalBytes, freeBytes: freeBytes(), processBytes: heldBytes + nonTorchBytes }),
    setNonTorchBytes(bytes) {
      if (bytes - nonTorchBytes > freeBytes()) return false;
      nonTorchBytes = bytes;
      return true;
    },
    setOtherProcessBytes(bytes) {
      if (bytes - otherProcessBytes > freeBytes()) return false;
      otherProcessBytes = bytes;
      return true;
    },
  };
}
