/** What to do about an error, in one sentence: `errors.yaml`. */
import type { ErrorCode } from '../model/errors.js';
import { loadData } from './load-data.js';

export const errorRemedies = (): Readonly<Record<ErrorCode, string>> =>
  loadData('errors') as Readonly<Record<ErrorCode, string>>;

/** Of a code in a store too, which another version may have written. */
export const remedyOf = (code: ErrorCode): string => errorRemedies()[code];
