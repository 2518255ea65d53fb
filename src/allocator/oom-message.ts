/** The out-of-memory message torch prints, from the allocator's own numbers. Upstream: `malloc` and `format_size` in `CUDACachingAllocator.cpp`. */
import { GIB, KIB, MIB } from '../model/units.js';

/** Everything known when an allocation finally failed, after the last flush. */
export interface OomReport {
  /** What the program asked for. */
  readonly requestedBytes: number;
  /** The size of the `oom` trace entry: the request rounded to a block size. */
  readonly roundedBytes: number;
  /** What cudaMalloc was asked for; the size the message prints. */
  readonly segmentBytes: number;
  readonly stream: number;
  readonly deviceTotalBytes: number;
  readonly deviceFreeBytes: number;
  /** All memory of this process on the device, as NVML reports it. */
  readonly processBytes: number;
  /** Σ sizes of allocated blocks. */
  readonly allocatedBytes: number;
  readonly reservedBytes: number;
}

/**
 * `format_size`: two decimals, base 1024, never beyond GiB. Unlike {@link formatBytes} the bounds are inclusive (exactly 1 MiB is
 * `1024.00 KiB`) and up to 1024 bytes are printed as an integer.
 */
export function formatOomSize(bytes: number): string {
  if (bytes <= KIB) return `${bytes} bytes`;
  if (bytes <= MIB) return `${(bytes / KIB).toFixed(2)} KiB`;
  if (bytes <= GIB) return `${(bytes / MIB).toFixed(2)} MiB`;
  return `${(bytes / GIB).toFixed(2)} GiB`;
}

/** The text of torch 2.5 to 2.10 for a process without private pools and without a memory fraction, on a device NVML can see. */
export function oomMessage(report: OomReport, device: number): string {
  const size = formatOomSize;
  return (
    `CUDA out of memory. Tried to allocate ${size(report.segmentBytes)}. GPU ${device} has a total capacity of ` +
    `${size(report.deviceTotalBytes)} of which ${size(report.deviceFreeBytes)} is free. Including non-PyTorch memory, this process has ` +
    `${size(report.processBytes)} memory in use. Of the allocated memory ${size(report.allocatedBytes)} is allocated by PyTorch, and ` +
    `${size(report.reservedBytes - report.allocatedBytes)} is reserved by PyTorch but unallocated. If reserved but unallocated memory is ` +
    'large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory ' +
    'Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)'
  );
}
