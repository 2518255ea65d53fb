/** Public interface of this folder. `text-log.ts` alone loads little: the registry lists it. */
export { explainLog } from './explain-log.js';
export { incidentsInText } from './incidents-in-text.js';
export { listFormats } from './list-formats.js';
export { logParser } from './text-log.js';
export { parseFormats, vocabularyWith } from './user-formats.js';
