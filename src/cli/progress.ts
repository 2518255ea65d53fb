/** One line on stderr, rewritten at most ten times a second; nothing unless stderr is a terminal. */
import { formatBytes } from '../model/units.js';
import type { Context } from './context.js';

const INTERVAL_MS = 100;

export interface Progress {
  readonly update: ((file: string, bytesRead: number, bytesTotal: number) => void) | undefined;
  clear(): void;
}

export function progressLine(context: Context, quiet = false): Progress {
  if (!context.showProgress || quiet) return { update: undefined, clear: () => undefined };
  let last = 0;
  let shown = false;
  return {
    update(file, bytesRead, bytesTotal) {
      const now = performance.now();
      if (now - last < INTERVAL_MS) return;
      last = now;
      shown = true;
      const share = bytesTotal > 0 ? `${Math.min(100, Math.floor((100 * bytesRead) / bytesTotal))} %` : '';
      const name = file.length > 50 ? `…${file.slice(-49)}` : file;
      context.err(`\r\u001b[K${name}  ${formatBytes(bytesRead)}  ${share}`);
    },
    clear() {
      if (shown) context.err('\r\u001b[K');
    },
  };
}
