/**
 * The out-of-memory message torch prints, from the allocator's own numbers, in the wording of every release. Upstream:
 * `malloc` and `format_size` in `CUDACachingAllocator.cpp`; the wordings are those of the tagged releases, from 2.2 on
 * inferred from pull requests.
 */
import type { OomReport } from '../../../src/allocator/oom-report.js';
import { GIB, KIB, MIB } from '../../../src/model/units.js';

/** The first release with a wording. */
export type OomWording = '1.0' | '1.4' | '1.10' | '2.1' | '2.2' | '2.5' | '2.11';

export interface OomMessageOptions {
  /** Default: 2.5. */
  readonly wording?: OomWording;
  /** Other processes NVML sees on the device, from 2.1. */
  readonly otherProcesses?: readonly { readonly pid: number; readonly bytes: number }[];
  /** In a container NVML cannot identify our process and lists it under this number as if it were another. */
  readonly listedAsPid?: number;
}

/** `cudaMalloc` lacked the memory, or the request was negative: torch refuses these without asking. */
export const MORE_THAN_1EB_MESSAGE = 'CUDA out of memory. Tried to allocate more than 1EB memory.';

const SPLIT_HINT =
  'try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF';
const EXPANDABLE_HINT =
  'try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  ';
const OLD_LINK = '(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)';
const NEW_LINK =
  '(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)';

/**
 * `format_size`: two decimals, base 1024, never beyond GiB. Unlike {@link formatBytes} the bounds are inclusive
 * (exactly 1 MiB is `1024.00 KiB`) and up to 1024 bytes are printed as an integer.
 */
export function formatOomSize(bytes: number): string {
  if (bytes <= KIB) return `${bytes} bytes`;
  if (bytes <= MIB) return `${hundredths(bytes, KIB)} KiB`;
  if (bytes <= GIB) return `${hundredths(bytes, MIB)} MiB`;
  return `${hundredths(bytes, GIB)} GiB`;
}

/**
 * Two decimals as C++ streams print them: exact ties, which multiples of 512 often are, go to the even digit; `toFixed`
 * rounds them up.
 */
function hundredths(bytes: number, unit: number): string {
  const halves = (bytes * 200) / unit;
  const isTie = Number.isInteger(halves) && halves % 2 === 1;
  const even = (halves - 1) / 2;
  return isTie ? ((even % 2 === 0 ? even : even + 1) / 100).toFixed(2) : (bytes / unit).toFixed(2);
}

/** The exception's text on `device`, without its class name. */
export function oomMessage(report: OomReport, device: number, options: OomMessageOptions = {}): string {
  const { wording = '2.5' } = options;
  return wording.startsWith('1.') ? parenthesised(report, device, wording) : sentences(report, device, options);
}

/** 1.0 to 2.0: all figures in one parenthesis. */
function parenthesised(report: OomReport, device: number, wording: OomWording): string {
  const size = formatOomSize;
  const { allowedBytes, reservedBytes, allocatedBytes } = report;
  const cached =
    wording === '1.0'
      ? `${size(reservedBytes - allocatedBytes)} cached`
      : `${size(reservedBytes)} reserved in total by PyTorch`;
  return (
    `CUDA out of memory. Tried to allocate ${size(report.segmentBytes)} (GPU ${device}; ` +
    `${size(report.deviceTotalBytes)} total capacity; ${size(allocatedBytes)} already allocated; ${size(report.deviceFreeBytes)} free; ` +
    `${allowedBytes !== null && wording !== '1.0' ? `${size(allowedBytes)} allowed; ` : ''}${cached})` +
    (wording === '1.10' ? ` If reserved memory is >> allocated memory ${SPLIT_HINT}` : '')
  );
}

function sentences(report: OomReport, device: number, options: OomMessageOptions): string {
  const size = formatOomSize;
  const { wording = '2.5', otherProcesses = [], listedAsPid } = options;
  const { allowedBytes } = report;
  const splitsPrivatePools = wording === '2.5' || wording === '2.11';
  // Free blocks of private pools are printed as allocated there, despite the wording.
  const privateBytes = splitsPrivatePools ? report.privatePoolFreeBytes : 0;
  const allocatedBytes = report.allocatedBytes + privateBytes;
  const processes = [
    ...otherProcesses.map(({ pid, bytes }) => `Process ${pid} has ${size(bytes)} memory in use. `),
    listedAsPid === undefined
      ? `Including non-PyTorch memory, this process has ${size(report.processBytes)} memory in use. `
      : `Process ${listedAsPid} has ${size(report.processBytes)} memory in use. `,
  ];
  return (
    `CUDA out of memory. Tried to allocate ${size(report.segmentBytes)}. GPU ${device} has a total ` +
    `${wording === '2.1' ? 'capacty' : 'capacity'} of ${size(report.deviceTotalBytes)} of which ${size(report.deviceFreeBytes)} is free. ` +
    processes.join('') +
    (allowedBytes !== null && splitsPrivatePools ? `${size(allowedBytes)} allowed; ` : '') +
    `Of the allocated memory ${size(allocatedBytes)} is allocated by PyTorch, ` +
    (privateBytes > 0 ? `with ${size(privateBytes)} allocated in private pools (e.g., CUDA Graphs), ` : '') +
    `and ${size(report.reservedBytes - allocatedBytes)} is reserved by PyTorch but unallocated. ` +
    'If reserved but unallocated memory is large ' +
    (wording === '2.1' ? SPLIT_HINT : EXPANDABLE_HINT + (wording === '2.11' ? NEW_LINK : OLD_LINK))
  );
}
