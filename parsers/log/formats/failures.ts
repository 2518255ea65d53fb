/**
 * Failures that are known by their words: everything that is not memory. Memory failures are
 * `src/knowledge/oom-messages.yaml`.
 */
import { CONFIGURATION_FAILURES } from '../failures/configuration.js';
import { CRASH_FAILURES } from '../failures/crashes.js';
import { DISTRIBUTED_FAILURES } from '../failures/distributed.js';
import { HARDWARE_FAILURES } from '../failures/hardware.js';
import { LAUNCHER_FAILURES } from '../failures/launchers.js';
import { SCHEDULER_FAILURES } from '../failures/schedulers.js';
import { TORCHRUN_FOOTER } from '../failures/torchrun-footer.js';
import type { LogFormat } from './contract.js';

export const FAILURE_FORMATS: readonly LogFormat[] = [
  ...CONFIGURATION_FAILURES,
  ...DISTRIBUTED_FAILURES,
  ...HARDWARE_FAILURES,
  ...SCHEDULER_FAILURES,
  ...CRASH_FAILURES,
  ...LAUNCHER_FAILURES,
  TORCHRUN_FOOTER,
];
