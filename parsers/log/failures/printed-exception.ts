import { classifyException } from '../classify-exception.js';
import type { LineCode } from '../formats/contract.js';

/** An exception printed without a traceback. */
export const EXCEPTION_LINE: LineCode = {
  id: 'python.exception_line',
  read({ exception = '', message = '' }, emit) {
    const classified = classifyException(exception, message);
    if (classified === null) return;
    emit({ row: 'failure', kind: classified.kind, text: `${exception}: ${message.trim()}`, exception });
  },
};
