/** Every format of this version, the list to read and to add to. */
import type { LogFormat } from './contract.js';

export const LOG_FORMATS: readonly LogFormat[] = [];
