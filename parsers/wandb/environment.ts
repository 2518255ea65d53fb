/** What W&B notes of the machine, the program and its place in a job, in its log and in `wandb-metadata.json`. */

import { envFinding, rankOfEnvironment } from '../../src/knowledge/env-keys.js';
import { pushAll } from '../../src/model/lists.js';
import type { ConfigFinding, EnvFinding, GaugeFinding, KnownRank, ValueFinding } from '../../src/model/log-rows.js';
import { readShellSettings } from '../../src/text/shell-settings.js';

export interface DeviceFacts {
  /** Index of the driver, null if the list is unordered. */
  readonly device: number | null;
  readonly name: string;
  /** 0 if unknown. */
  readonly totalBytes: number;
  readonly uuid: string;
}

/** Unknown texts are empty and unknown numbers 0. The user (`email`, `username`, `root`) is not read. */
export interface EnvironmentFacts {
  readonly host: string;
  readonly python: string;
  readonly program: string;
  readonly gpuType: string;
  /** CUDA version that the driver supports (NVML), not the one that torch was built with. */
  readonly cudaDriver: string;
  readonly commit: string;
  readonly startedUs: number | null;
  readonly cpus: number;
  readonly gpus: number;
  readonly memoryBytes: number;
  readonly devices: readonly DeviceFacts[];
  readonly args: readonly string[];
  /** Variables of the process without `SLURM_`, in small letters. */
  readonly slurm: ReadonlyMap<string, string>;
}

export type Fact = ValueFinding | GaugeFinding | ConfigFinding | EnvFinding;

const MOST_ARG_CHARS = 256 * 1024;

export function word(name: string, text: string, device?: number): ValueFinding {
  return { row: 'value', name, value: null, unit: null, text, ...(device === undefined ? {} : { device }) };
}

export function figure(name: string, value: number, unit: string | null, device?: number): ValueFinding {
  return { row: 'value', name, value, unit, ...(device === undefined ? {} : { device }) };
}

function exactGauge(metric: GaugeFinding['metric'], bytes: number): GaugeFinding {
  return { row: 'gauge', metric, bytes, value: bytes, unit: 'bytes', precisionBytes: 0 };
}

export function environmentFacts(facts: EnvironmentFacts): Fact[] {
  const rows: Fact[] = [];
  for (const [name, text] of [
    ['commit.source', facts.commit],
    ['version.python', facts.python.replace(/^CPython /, '')],
    ['version.cuda_driver', facts.cudaDriver],
    ['wandb.program', facts.program],
  ] as const)
    if (text !== '') rows.push(word(name, text));
  if (facts.cpus > 0) rows.push(figure('host.cpus', facts.cpus, 'count'));
  if (facts.gpus > 0) rows.push(figure('gpu.count', facts.gpus, 'count'));
  if (isBytes(facts.memoryBytes)) rows.push(exactGauge('host_total', facts.memoryBytes));
  // Before the list of devices there was one name for all.
  if (facts.devices.length === 0 && facts.gpuType !== '') rows.push(word('gpu.name', facts.gpuType));
  for (const { device, name, totalBytes, uuid } of facts.devices) {
    const where = device ?? undefined;
    if (name !== '') rows.push(word('gpu.name', name, where));
    if (uuid !== '') rows.push(word('gpu.uuid', uuid, where));
    if (!isBytes(totalBytes) || device === null) continue;
    rows.push({ ...exactGauge('device_total', totalBytes), device, ...(uuid === '' ? {} : { gpuId: uuid }) });
  }
  pushAll(rows, settingsOfArgs(facts.args));
  for (const [key, value] of facts.slurm) {
    const finding = envFinding(slurmVariable(key), value, 'process environ');
    if (finding !== null) rows.push(finding);
  }
  return rows;
}

/** The rank from Slurm's variables, by the rules for any environment. */
export function rankOfSlurm(slurm: ReadonlyMap<string, string>): KnownRank {
  if (slurm.size === 0) return null;
  return rankOfEnvironment(new Map([...slurm].map(([key, value]) => [slurmVariable(key), value])));
}

function slurmVariable(key: string): string {
  return `SLURM_${key.toUpperCase()}`;
}

function isBytes(bytes: number): boolean {
  return bytes > 0 && bytes <= Number.MAX_SAFE_INTEGER;
}

/**
 * The arguments are those of a command line, so they are read as one: quoted, so that the shell's own signs mean
 * nothing.
 */
function settingsOfArgs(args: readonly string[]): Fact[] {
  let chars = 0;
  const words: string[] = [];
  for (const arg of args) {
    chars += arg.length;
    if (chars > MOST_ARG_CHARS) break;
    words.push(/^[\w./:=,+@%-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`);
  }
  if (words.length === 0) return [];
  return readShellSettings(`python main.py ${words.join(' ')}`).map(({ finding }) => finding);
}
