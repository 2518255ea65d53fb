/** What `launch.sh` of a repository tells the trainer: the machine, the container, and which launch it is. */
import type { Gpu, TorchRelease } from '../../run.js';

export interface LaunchOptions {
  /** Of the repository: what all its runs have in common (launcher, account, losses). */
  readonly seed: number;
  readonly torch: TorchRelease;
  readonly gpu: Gpu;
  readonly ranks: number;
  /** Where the repository lies inside the container, with a slash at the end. */
  readonly mount: string;
  /** Name of the commit that is trained: what differs from launch to launch follows from it. */
  readonly commit: string;
  /** From 1: another launch of the same commit takes another time. */
  readonly attempt: number;
  /** How memory lines look: Megatron Bridge's in GB, or those of Megatron-LM in MB, which its first releases had. */
  readonly memoryLines: 'bridge' | 'megatron';
  /** How stragglers are looked for: Megatron Core's detector, or NVIDIA's resiliency extension. */
  readonly stragglers: 'megatron' | 'nvrx';
}

export const GPUS: readonly Gpu[] = [
  { name: 'NVIDIA A16', totalBytes: 15_655_829_504, perNode: 4 },
  { name: 'NVIDIA A10G', totalBytes: 23_609_475_072, perNode: 4 },
  { name: 'NVIDIA L40S', totalBytes: 47_697_362_944, perNode: 8 },
  { name: 'NVIDIA A100-SXM4-40GB', totalBytes: 42_298_834_944, perNode: 8 },
  { name: 'NVIDIA A100-SXM4-80GB', totalBytes: 84_987_740_160, perNode: 8 },
  { name: 'NVIDIA H100 80GB HBM3', totalBytes: 84_942_979_072, perNode: 8 },
];
