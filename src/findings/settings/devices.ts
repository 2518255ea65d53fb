/** GPUs by name: compute capability and memory. `h100-80gb`, `NVIDIA H100 80GB HBM3`, `GB200`. */
import type { Device } from './facts.js';

const GIB = 1024 ** 3;

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
