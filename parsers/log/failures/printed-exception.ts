import { classifyException } from '../classify-exception.js';
import type { LineCode } from '../formats/contract.js';

/**
 * Classes that Python code raises with the reason in the text; one of them begins the line of an exception whose
 * traceback is missing.
 */
const CLASSES: readonly string[] = [
  ...['AssertionError', 'ValueError', 'NotImplementedError', 'RuntimeError', 'TypeError'],
  ...['KeyError', 'IndexError', 'AttributeError', 'ImportError', 'ModuleNotFoundError'],
  ...['FileNotFoundError', 'PermissionError', 'FileExistsError', 'NameError', 'ZeroDivisionError'],
  ...['UnpicklingError', 'JSONDecodeError', 'CheckpointingException', 'DistBackendError', 'DistNetworkError'],
  ...['DistStoreError'],
];

/** An exception printed without a traceback. */
export const EXCEPTION_LINE: LineCode = {
  id: 'python.exception_line',
  anchors: CLASSES.map((name) => `${name}: `),
  pattern: new RegExp(
    `^\\s{0,4}(?<exception>(?:[A-Za-z_]\\w{0,60}\\.){0,8}(?:${CLASSES.join('|')})): (?<message>\\S[^\\n]{0,2000})`,
    'g',
  ),
  read({ exception = '', message = '' }, emit) {
    const classified = classifyException(exception, message);
    if (classified === null) return;
    emit({ row: 'failure', kind: classified.kind, text: `${exception}: ${message.trim()}`, exception });
  },
};
