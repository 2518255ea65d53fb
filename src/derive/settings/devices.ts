/** GPUs by name: compute capability and memory. `h100-80gb`, `NVIDIA H100 80GB HBM3`, `GB200`. */
import { GIB, MIB } from '../../model/units.js';
import type { Device } from './facts.js';

interface Model {
  readonly pattern: RegExp;
  readonly capability: number;
  /** GiB as sold, where the name does not include a size. */
  readonly gib: number;
}

/** The longer names first: a GB200 is not a B200. Capabilities: NVIDIA's table of CUDA GPUs. */
const MODELS: readonly Model[] = [
  { pattern: /gb300/, capability: 10.3, gib: 288 },
  { pattern: /gb200/, capability: 10, gib: 192 },
  { pattern: /gh200/, capability: 9, gib: 96 },
  { pattern: /b300/, capability: 10.3, gib: 288 },
  { pattern: /b200/, capability: 10, gib: 180 },
  { pattern: /h200/, capability: 9, gib: 141 },
  { pattern: /h20\b/, capability: 9, gib: 96 },
  { pattern: /h[18]00/, capability: 9, gib: 80 },
  { pattern: /a100/, capability: 8, gib: 80 },
  { pattern: /a800/, capability: 8, gib: 80 },
  { pattern: /rtx pro 6000/, capability: 12, gib: 96 },
  { pattern: /l40s?/, capability: 8.9, gib: 48 },
  { pattern: /a40|a6000/, capability: 8.6, gib: 48 },
  { pattern: /a30/, capability: 8, gib: 24 },
  { pattern: /a10\b/, capability: 8.6, gib: 24 },
  { pattern: /l4\b/, capability: 8.9, gib: 24 },
  { pattern: /v100/, capability: 7, gib: 32 },
];

/** Null for a name that does not match a known GPU. */
export function deviceOf(name: string): Device | null {
  const text = name.toLowerCase().replace(/[_-]+/g, ' ');
  const model = MODELS.find(({ pattern }) => pattern.test(text));
  if (model === undefined) return null;
  const explicit = /(\d{2,3})\s*g(?:i?b)?\b/.exec(text);
  return {
    name,
    capability: model.capability,
    total_bytes: (explicit === null ? model.gib : Number(explicit[1])) * GIB,
  };
}

/** A device that a recording can be replayed on. */
export interface TargetDevice {
  /** As `whatif --device` takes it. */
  readonly name: string;
  /** As screens print it. */
  readonly label: string;
  /** What CUDA or HIP reports as the device's total, of which a context and NCCL take their part. */
  readonly total_bytes: number;
  /** Where that total was read. */
  readonly source: string;
}

/**
 * Totals as `torch.cuda.get_device_properties` or an OOM message prints them, in MiB. They are less than the size in
 * the product's name and less than what nvidia-smi prints, which includes what the driver keeps; they differ by driver
 * and board. Of several printed totals this is the least. A figure printed in GiB with two decimals is rounded down. A
 * device without such evidence is not in the list.
 */
const TARGETS: readonly (readonly [label: string, mib: number, source: string])[] = [
  ['V100-16', 16_130, 'total_memory=16130MB of a Tesla V100-SXM2-16GB; 16160MB with other drivers'],
  ['A100-40', 40_326, 'total_memory=40326MB of an A100-PCIE-40GB; OOM messages of 39.38 to 39.50 GiB'],
  ['A100-80', 81_049, 'OOM messages of 79.15 GiB on A100 80GB; 79.25 GiB with other drivers'],
  ['A40', 45_416, 'total_memory=45416MB of an A40'],
  ['L40S', 45_455, 'OOM messages of 44.39 GiB on L40S; total_memory=45589MB with another driver; nvidia-smi 46068MiB'],
  ['H20', 97_285, 'total_memory=97285MB of an H20'],
  [
    'H100',
    81_008,
    'total_memory=81008MB of an H100 PCIe, 81082MB to 81090MB of H100 80GB HBM3; 79.11 GiB in vllm-project/vllm#27508; nvidia-smi 81559MiB',
  ],
  ['GH200', 96_768, 'OOM message of 94.50 GiB on a GH200 with 96 GB of HBM3, vllm-project/vllm#9630'],
  ['H200', 143_156, 'total_memory=143156MB of an H200; OOM messages of 139.80 GiB; nvidia-smi 143771MiB'],
  [
    'B200',
    182_631,
    'total_memory=182631MB of a B200; 178.35 in pytorch/ao#4002; OOM messages of 178.35 GiB; nvidia-smi 183359MiB',
  ],
  ['GB200', 188_733, 'OOM messages of 184.31 GiB on GB200; nvidia-smi 189471MiB'],
  ['B300', 274_104, 'a total of 267.68 GiB on B300 SXM6, OOM messages of 267.69 GiB; nvidia-smi 275040MiB'],
  ['GB300', 283_136, 'OOM message of 276.50 GiB on the GB300 of a DGX Station; nvidia-smi 284208MiB'],
  ['RTX-PRO-6000', 97_250, 'total_memory=97250MB of an RTX PRO 6000 Blackwell Server Edition'],
  ['MI300X', 196_592, 'total_memory=196592MB of an MI300X, ROCm/ROCm#4203; OOM messages of 191.98 GiB'],
];

/** In the order of the list. */
export const TARGET_DEVICES: readonly TargetDevice[] = TARGETS.map(([label, mib, source]) => ({
  name: label.toLowerCase(),
  label,
  total_bytes: mib * MIB,
  source,
}));

/** Undefined for a name that is not in the list. `H100`, `a100-80gb` and `A100 80GB` are names. */
export function targetDeviceOf(name: string): TargetDevice | undefined {
  const key = name
    .trim()
    .toLowerCase()
    .replace(/[\s_]+/g, '-')
    .replace(/(\d)gb$/, '$1');
  return TARGET_DEVICES.find((device) => device.name === key);
}

/** What `whatif` tries unless devices are named: the devices of today's training systems, by size. */
export const USUAL_TARGETS: readonly TargetDevice[] = ['h100', 'h200', 'b200', 'gb200', 'b300', 'gb300'].map(
  (name) => targetDeviceOf(name)!,
);
