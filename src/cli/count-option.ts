import { MbfError } from '../model/errors.js';

/** A count as an option; throws MBF1001 on anything that is none. */
export function parseCount(name: string, text: string): number {
  const count = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(count) || count < 0)
    throw new MbfError('MBF1001', `${name} ${JSON.stringify(text)} is no count`);
  return count;
}

/** `--limit 20` and the like; undefined stands for all, which is written 0. */
export function countOption(name: string, text: string): number | undefined {
  const count = parseCount(name, text);
  return count === 0 ? undefined : count;
}

/** `--device 1`; undefined if it was not given. */
export function deviceOption(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseCount('--device', text);
}
