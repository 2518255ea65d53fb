/** An error of one file, in the form of results. */
import { remedyOf } from '../knowledge/errors.js';
import { hideSecrets } from '../knowledge/secrets.js';
import type { MbfError } from '../model/errors.js';
import type { Failure } from '../model/results/common.js';

export function asFailure(error: MbfError): Failure {
  return {
    code: error.code,
    text: hideSecrets(error.describe()),
    remedy: remedyOf(error.code),
    offset: error.place.offset ?? null,
  };
}
