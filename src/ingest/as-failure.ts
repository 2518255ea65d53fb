/** An error of one file, in the form of results. */
import { hideSecrets } from '../knowledge/secrets.js';
import type { MbfError } from '../model/errors.js';
import type { Failure } from '../model/results/common.js';

export function asFailure(error: MbfError): Failure {
  return {
    code: error.code,
    text: hideSecrets(error.describe()),
    remedy: error.remedy,
    offset: error.place.offset ?? null,
  };
}
