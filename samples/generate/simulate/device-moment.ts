/** Another process on the device, as NVML lists it. */
export interface OtherProcess {
  readonly pid: number;
  readonly bytes: number;
  /** The program, as a list of processes names it. */
  readonly name?: string;
}

/** What a rank's device held from `timeUs` on, until the next moment. */
export interface DeviceMoment {
  readonly timeUs: number;
  /** By the allocator of the rank. */
  readonly reservedBytes: number;
  /** By its process: the allocator, and context, NCCL and libraries besides it. */
  readonly processBytes: number;
  readonly otherProcesses: readonly OtherProcess[];
}
