/**
 * Progress of an ingest on stderr. On a terminal it is one line, rewritten at most ten times a second. Elsewhere it is
 * a line for each file, and only of work that takes more than five seconds: a short answer has no lines before it.
 */
import type { IngestProgress } from '../ingest/options.js';
import { formatBytes, formatCount } from '../model/units.js';
import { keepEnd, printable } from '../report/plain-text.js';
import type { Context } from './context.js';

const INTERVAL_MS = 100;
const QUIET_MS = 5_000;
const LONGEST_NAME = 40;

export interface Progress extends IngestProgress {
  /** Removes the line. */
  end(): void;
}

type Output = Pick<Context, 'err' | 'progress' | 'progressLine'>;

export function progressOf({ err, progress, progressLine }: Output, quiet = false): Progress | undefined {
  if (quiet || progress === 'none') return undefined;
  const begun = performance.now();
  const total = { files: 0, bytes: 0 };
  const done = { files: 0, bytes: 0 };
  const place = (number: number): string =>
    total.files > 1 ? `file ${formatCount(number)} of ${formatCount(total.files)}  ` : '';
  const add = (files: number, bytes: number): void => {
    total.files += files;
    total.bytes += bytes;
  };
  if (progress === 'lines') {
    return {
      files: add,
      read: () => undefined,
      done(name, bytes, status) {
        done.files += 1;
        if (performance.now() - begun > QUIET_MS)
          err(`${place(done.files)}${printable(name)}  ${formatBytes(bytes)}  ${status}\n`);
      },
      derive: () => undefined,
      end: () => undefined,
    };
  }
  let last = 0;
  let isShown = false;
  const show = (text: string): void => {
    const now = performance.now();
    if (now - last < INTERVAL_MS) return;
    last = now;
    isShown = true;
    progressLine(text);
  };
  return {
    files: add,
    read(name, bytes, fileBytes) {
      const read = done.bytes + bytes;
      const share = total.bytes > 0 ? ` of ${formatBytes(total.bytes)}  ${percent(read / total.bytes)}` : '';
      const seconds = (performance.now() - begun) / 1000;
      const rate = read / Math.max(seconds, 0.001);
      const left = seconds < 1 || read === 0 ? '' : `  ${duration((total.bytes - read) / rate)} left`;
      const speed = seconds < 1 ? '' : `  ${formatBytes(Math.round(rate))}/s${left}`;
      const amount = `${formatBytes(Math.min(read, Math.max(total.bytes, fileBytes)))}${share}`;
      show(`${place(done.files + 1)}${keepEnd(printable(name), LONGEST_NAME)}  ${amount}${speed}`);
    },
    done(_name, bytes) {
      done.files += 1;
      done.bytes += bytes;
    },
    derive: () => show('analysing …'),
    end() {
      if (isShown) progressLine('');
      isShown = false;
    },
  };
}

/** Parts of a work that are done: a line on a terminal, which goes with the last; nothing elsewhere. */
export function partsOf({ progress, progressLine }: Output, quiet: boolean, what: string) {
  if (quiet || progress !== 'line') return undefined;
  return (done: number, all: number): void =>
    progressLine(done < all ? `${what} ${formatCount(done + 1)} of ${formatCount(all)}` : '');
}

function percent(share: number): string {
  return `${Math.min(100, Math.floor(100 * share))} %`;
}

function duration(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  return whole < 120 ? `${whole} s` : `${Math.ceil(whole / 60)} min`;
}
