/**
 * `nvidia-smi` as a monitor: the answers to its two queries, and the commands that ask. Formats: nvidia-smi's manual,
 * `--help-query-gpu` and `--help-query-compute-apps`. A table without rows, which a node without processes has, is its
 * header alone.
 */
import { MIB } from '../../../../src/model/units.js';
import type { Gpu } from '../../run.js';
import { clock, microseconds } from '../python-text.js';
import type { DeviceSample } from './node-samples.js';

export const DEVICE_FIELDS = 'timestamp,index,uuid,memory.total,memory.used,memory.free,utilization.gpu';
export const PROCESS_FIELDS = 'timestamp,gpu_uuid,pid,process_name,used_gpu_memory';

const DEVICE_HEADER =
  'timestamp, index, uuid, memory.total [MiB], memory.used [MiB], memory.free [MiB], utilization.gpu [%]';
const PROCESS_HEADER = 'timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]';

/**
 * What is soldered on, MiB. cudaMemGetInfo's total is less by what the driver reserves; neither `used` nor `free`
 * counts that.
 */
const SOLDERED_MIB: Readonly<Record<string, number>> = {
  'NVIDIA A100-SXM4-40GB': 40_960,
  'NVIDIA A100-SXM4-80GB': 81_920,
  'NVIDIA H100 80GB HBM3': 81_559,
  'NVIDIA H200': 143_771,
};

/** `memory.total`, MiB. Throws for a device that is not in the list. */
export function solderedMib({ name }: Gpu): number {
  const mib = SOLDERED_MIB[name];
  if (mib === undefined) throw new Error(`nvidia-smi's total of ${name} is not known`);
  return mib;
}

/** `2024/11/12 15:02:31.804`. */
export function smiTime(us: number): string {
  return `${clock(us).replaceAll('-', '/')}.${microseconds(us).slice(0, 3)}`;
}

/** Bytes are cut, not rounded. */
function mib(bytes: number): string {
  return `${Math.floor(bytes / MIB)} MiB`;
}

export function deviceTable(samples: readonly (readonly DeviceSample[])[], gpu: Gpu): string {
  const rows = samples
    .flat()
    .map(({ timeUs, device, gpu: uuid, usedBytes, utilization }) =>
      [
        smiTime(timeUs),
        device,
        uuid,
        `${solderedMib(gpu)} MiB`,
        mib(usedBytes),
        mib(gpu.totalBytes - usedBytes),
        `${utilization} %`,
      ].join(', '),
    );
  return `${[DEVICE_HEADER, ...rows].join('\n')}\n`;
}

/** Every row of one answer has the time of the question. */
export function processTable(samples: readonly (readonly DeviceSample[])[]): string {
  const rows = samples.flatMap((devices) =>
    devices.flatMap(({ gpu, processes }) =>
      processes.map(({ pid, name, bytes }) =>
        [smiTime(devices[0]!.timeUs), gpu, pid, name ?? '[Not Found]', mib(bytes)].join(', '),
      ),
    ),
  );
  return `${[PROCESS_HEADER, ...rows].join('\n')}\n`;
}

/** What the batch script starts before the training; the shell's end is theirs. */
export function monitorCommands(): string[] {
  const query = (kind: string, fields: string, file: string): string =>
    `nvidia-smi --query-${kind}=${fields} --format=csv -l 1 > "${file}_$(hostname -s).csv" &`;
  return [query('gpu', DEVICE_FIELDS, 'gpu-memory'), query('compute-apps', PROCESS_FIELDS, 'gpu-processes')];
}
