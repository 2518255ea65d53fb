/**
 * A run directory around a planted capture: the export, a snapshot per rank, and the log of a training that ended as
 * planted.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CodeLine } from '../../../samples/generate/simulate/code-line.js';
import { oomMessage } from '../../../samples/generate/write/oom-message.js';
import { clock, fixed, padded, scientific } from '../../../samples/generate/write/python-text.js';
import { plantedScenario, type Scenario } from './scenario.js';
import { snapshotBytes, snapshotName } from './snapshots.js';
import { LAST_STEP, PATHS } from './training.js';
import { type ExportOptions, type NsysSchema, type WrittenExport, writeNsysExport } from './write-export.js';

export interface PlantedRun {
  readonly directory: string;
  readonly scenario: Scenario;
  readonly export: WrittenExport;
  /** Paths, by rank. */
  readonly snapshots: readonly string[];
  readonly log: string;
}

export function writePlantedRun(
  directory: string,
  seed: number,
  schema: NsysSchema,
  options: ExportOptions = {},
): PlantedRun {
  mkdirSync(directory, { recursive: true });
  const scenario = plantedScenario(seed);
  const snapshots = scenario.processes.map((process) => {
    const path = join(directory, snapshotName(scenario, process));
    writeFileSync(path, snapshotBytes(scenario, process));
    return path;
  });
  const log = join(directory, 'train_770133_0.log');
  writeFileSync(log, trainingLog(scenario));
  const path = join(directory, 'planted.sqlite');
  return { directory, scenario, export: writeNsysExport(path, scenario, schema, options), snapshots, log };
}

/** The log's clock is the machine's wall clock. */
function trainingLog(scenario: Scenario): string {
  const { truth, utcEpochNs } = scenario;
  const { oom, steps } = truth;
  const wall = (ns: number): string => clock(Number((utcEpochNs + BigInt(ns)) / 1000n));
  const finished = steps[oom.pid]!.filter(({ index }) => index < LAST_STEP);
  const lines = finished.map(({ index, startNs, endNs }) =>
    [
      ` [${wall(endNs)}] iteration ${padded(index, 8)}/     500 | consumed samples: ${padded(index * 16, 12)}`,
      `elapsed time per iteration (ms): ${fixed((endNs - startNs) / 1e6, 1)} | learning rate: 3.000000E-04`,
      `global batch size:    16 | lm loss: ${scientific(9 - index / 50)} | loss scale: 1.0 | grad norm: 1.413`,
      'number of skipped iterations:   0 | number of nan iterations:   0 |',
    ].join(' | '),
  );
  return [
    'using world size: 2, data-parallel size: 2, context-parallel size: 1, tensor-model-parallel size: 1, pipeline-model-parallel size: 1',
    `[after model, optimizer, and learning rate scheduler are built] datetime: ${wall(finished[0]!.startNs)} `,
    ...['training ...', ...lines, 'saving allocated state during OOM'],
    ...tracebackLines(scenario).map((line) => `[rank${oom.rank}]: ${line}`),
    '',
  ].join('\n');
}

function tracebackLines({ truth }: Scenario): string[] {
  const { oom } = truth;
  const more = { roundedBytes: oom.segmentBytes, stream: 0, allowedBytes: null, privatePoolFreeBytes: 0 };
  const report = { ...oom, ...more };
  const frame = ({ filename, line, name, source }: CodeLine): string[] => [
    ...[`  File "${filename}", line ${line}, in ${name}`, `    ${source}`],
  ];
  return [
    'Traceback (most recent call last):',
    ...PATHS.forward.toReversed().flatMap(frame),
    ...`torch.OutOfMemoryError: ${oomMessage(report, oom.device)}`.split('\n'),
  ];
}
