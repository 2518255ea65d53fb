/** The registry: every format this version reads, in the order that breaks ties between equal claims. */
import type { ParserSpec } from '../src/model/parser.js';
import { configParser } from './config/index.js';
import { logParser } from './log/text-log.js';

/** Read by path, not ingested: figures to compare with, not what a run left behind. */
export { looksLikeGolden, readGolden, writeBridgeGolden, writeMegatronGolden } from './golden/index.js';
export { earliestTorch } from './torch-snapshot/features.js';

import { nsysExport } from './nsys/index.js';
import { profilerTimeline } from './profiler-timeline/index.js';
import { torchSnapshot } from './torch-snapshot/index.js';

export const PARSERS: readonly ParserSpec[] = [
  // A binary pickle is unmistakable.
  torchSnapshot,
  // A database, or lines with a number for their type.
  nsysExport,
  // Nested lists of numbers and nothing else.
  profilerTimeline,
  // Known by the settings in it.
  configParser,
  // Anything that is text may be a log, so it comes last.
  logParser,
];

/** What `formats` asks of the log parser; loaded when asked for. */
export const loadLogFormats = () => import('./log/index.js');
