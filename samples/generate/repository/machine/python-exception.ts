/** An exception of the interpreted program, with the stack it was raised on. */
import type { CallPath } from '../../simulate/code-line.js';

export class PythonException extends Error {
  /** `Type: text`, possibly of several lines. */
  readonly exception: string;
  readonly path: CallPath;

  constructor(exception: string, path: CallPath) {
    super(exception);
    this.exception = exception;
    this.path = path;
  }
}
