/** The registry: every format this version reads, in the order that breaks ties between equal claims. */
import type { ParserSpec } from '../src/model/parser.js';
import { configParser } from './config/index.js';
import { logParser } from './log/text-log.js';

/** Read by path, not ingested: figures to compare with, not what a run left behind. */
export {
  looksLikeGolden,
  readGolden,
  writeBridgeGolden,
  writeMegatronGolden,
} from './golden/index.js';
export { earliestTorch } from './torch-snapshot/features.js';

import { deviceMonitor } from './device-monitor/index.js';
import { kubernetesEvents } from './kubernetes-events/index.js';
import { nsysExport } from './nsys/index.js';
import { profilerTimeline } from './profiler-timeline/index.js';
import { exportedScalars } from './scalars/index.js';
import { slurmAccounting } from './slurm-accounting/index.js';
import { tensorboardEvents } from './tensorboard/index.js';
import { torchSnapshot } from './torch-snapshot/index.js';
import { wandbRun } from './wandb/index.js';

export const PARSERS: readonly ParserSpec[] = [
  // A binary pickle is unmistakable.
  torchSnapshot,
  // A database, or lines with a number for their type.
  nsysExport,
  // Records with checksums.
  tensorboardEvents,
  // Records with checksums behind a magic, and JSON known by its name.
  wandbRun,
  // Nested lists of numbers and nothing else.
  profilerTimeline,
  // Tables and reports known by their first line.
  deviceMonitor,
  slurmAccounting,
  kubernetesEvents,
  // Known by a header, or by the keys of the first row.
  exportedScalars,
  // Known by the settings in it.
  configParser,
  // Anything that is text may be a log, so it comes last.
  logParser,
];

/** What `formats` asks of the log parser; loaded when asked for. */
export const loadLogFormats = () => import('./log/index.js');
export const loadScalarNames = () => import('./scalars/list-names.js');
