import { expect } from 'vitest';
import { MbfError } from '../../src/model/errors.js';

/** The error of ours that work ends with. */
export async function refusal(work: Promise<unknown>): Promise<MbfError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(MbfError);
  return error as MbfError;
}
