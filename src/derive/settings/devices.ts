/** GPUs by name: compute capability and memory. `h100-80gb`, `NVIDIA H100 80GB HBM3`, `GB200`. */
import { loadData } from '../../knowledge/load-data.js';
import { GIB, MIB } from '../../model/units.js';
import type { Device } from './facts.js';

interface Model {
  readonly pattern: RegExp;
  /** Of CUDA; of no other device. */
  readonly capability?: number;
  readonly gib: number;
  readonly bf16_tflops?: number;
}

const DATA = loadData('devices') as {
  readonly models: readonly (Omit<Model, 'pattern'> & { readonly pattern: string })[];
  readonly targets: readonly (Pick<TargetDevice, 'label' | 'source'> & { readonly mib: number })[];
};
const MODELS: readonly Model[] = DATA.models.map((model) => ({ ...model, pattern: new RegExp(model.pattern) }));

const plain = (name: string): string => name.toLowerCase().replace(/[_-]+/g, ' ');
const modelOf = (name: string): Model | undefined => MODELS.find(({ pattern }) => pattern.test(plain(name)));

/** Dense BF16 TFLOP/s of a GPU; undefined where not known. */
export const bf16TflopsOf = (name: string): number | undefined => modelOf(name)?.bf16_tflops;

/** Null for a name that does not match a known GPU. */
export function deviceOf(name: string): Device | null {
  const model = modelOf(name);
  if (model === undefined) return null;
  const explicit = /(\d{2,3})\s*g(?:i?b)?\b/.exec(plain(name));
  return {
    name,
    capability: model.capability ?? null,
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

/** In the order of the list. */
export const TARGET_DEVICES: readonly TargetDevice[] = DATA.targets.map(({ label, mib, source }) => ({
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
