import { MbfError } from '../model/errors.js';

/** `--limit 20` and the like; undefined stands for all, which is written 0. */
export function countOption(name: string, text: string): number | undefined {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 0)
    throw new MbfError('MBF1001', `${name} ${JSON.stringify(text)} is no count`);
  return count === 0 ? undefined : count;
}
