/** Everything known when an allocation finally failed, after the last flush. */
export interface OomReport {
  /** What the program asked for. */
  readonly requestedBytes: number;
  /** The size of the `oom` trace entry: the request rounded to a block size. */
  readonly roundedBytes: number;
  /** What cudaMalloc was asked for; the size the message prints, with expandable segments too. */
  readonly segmentBytes: number;
  readonly stream: number;
  readonly deviceTotalBytes: number;
  readonly deviceFreeBytes: number;
  /** All memory of this process on the device, as NVML reports it. */
  readonly processBytes: number;
  /** The limit of a memory fraction; null without one. */
  readonly allowedBytes: number | null;
  /** Σ sizes of allocated blocks. */
  readonly allocatedBytes: number;
  readonly reservedBytes: number;
  /** Σ sizes of free blocks of private pools. */
  readonly privatePoolFreeBytes: number;
}
