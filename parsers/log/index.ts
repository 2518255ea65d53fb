/** What this room does for others. `text-log.ts` alone loads little: it is what the registry lists. */
export { explainLog } from './explain-log.js';
export { incidentsInText } from './incidents-in-text.js';
export { listFormats } from './list-formats.js';
export { logParser } from './text-log.js';
