/** Every format of this version, the list to read and to add to. */
import { LAUNCH_FORMATS } from '../launches/index.js';
import type { LogFormat } from './contract.js';
import { FAILURE_FORMATS } from './failures.js';
import { MEGATRON_FAMILY } from './megatron-family.js';
import { OTHER_FORMATS } from './other.js';
import { REINFORCEMENT_LEARNING_FORMATS } from './reinforcement-learning.js';
import { SETTINGS_FORMATS } from './settings.js';

export const LOG_FORMATS: readonly LogFormat[] = [
  ...MEGATRON_FAMILY,
  ...SETTINGS_FORMATS,
  ...OTHER_FORMATS,
  ...REINFORCEMENT_LEARNING_FORMATS,
  ...LAUNCH_FORMATS,
  ...FAILURE_FORMATS,
];
