/** A device of a given size, for allocators that no recording drives; and settings as tests and samples write them. */
import type { Driver } from '../../../src/allocator/caching/driver.js';
import { type AllocatorSettings, LARGE_ROUND_BYTES, readAllocConf } from '../../../src/allocator/settings.js';
import { MbfError } from '../../../src/model/errors.js';

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

/** The settings of a string that is known to be right. Throws MBF9001 with the first problem. */
export function settingsFromConf(text: string): AllocatorSettings {
  const { settings, problems } = readAllocConf(text);
  if (problems.length > 0) throw new MbfError('MBF9001', `allocator settings ${JSON.stringify(text)}: ${problems[0]}`);
  return settings;
}
