/** Ctrl-C and other signals that end the process: temporary files go, and one line reports what is kept. */
import { rmSync } from 'node:fs';
import { constants } from 'node:os';
import { visibleText } from '../model/escape-controls.js';
import { makeTemporaryDirectory, removeTemporaryFiles } from '../store/temporary-files.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Removes what was being made; returns what is kept, for the message. */
type Cleanup = () => string | undefined;

const cleanups: Cleanup[] = [];

/**
 * Runs `cleanup` if a signal ends the process before the returned function is called. The exit code is 128 + signal.
 */
export function onInterrupt(cleanup: Cleanup): () => void {
  if (cleanups.length === 0) for (const signal of SIGNALS) process.on(signal, end);
  cleanups.push(cleanup);
  return () => {
    const at = cleanups.indexOf(cleanup);
    if (at < 0) return;
    cleanups.splice(at, 1);
    if (cleanups.length === 0) for (const signal of SIGNALS) process.off(signal, end);
  };
}

/** An empty directory, removed by `dispose`, or if a signal ends the process before. */
export function heldDirectory(parent?: string, isHidden = false): HeldDirectory {
  const directory = makeTemporaryDirectory(parent, isHidden);
  const remove = (): undefined => void rmSync(directory, { recursive: true, force: true });
  const forget = onInterrupt(remove);
  return {
    directory,
    dispose: async () => {
      forget();
      remove();
    },
  };
}

export interface HeldDirectory {
  readonly directory: string;
  readonly dispose: () => Promise<void>;
}

function end(signal: NodeJS.Signals): void {
  const kept = cleanups
    .toReversed()
    .map((cleanup) => cleanup())
    .filter((text) => text !== undefined);
  removeTemporaryFiles();
  const clear = process.stderr.isTTY ? '\r\u001b[K' : '';
  process.stderr.write(
    `${clear}mbforensics: interrupted; ${kept.length === 0 ? 'nothing is kept' : visibleText(kept.join('; '))}\n`,
  );
  process.exit(128 + constants.signals[signal]);
}
