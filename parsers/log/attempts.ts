import type { AttemptRow } from '../../src/model/log-rows.js';

/** Writers times banners of one attempt. */
const MOST_BANNERS = 65_536;

/**
 * Distinguishes the launches inside one file. A launch banner begins a new attempt only if the current one has trained,
 * or has failed and the same writer had printed this banner before: every rank prints its own. An iteration counter
 * that goes back always begins one.
 */
export class AttemptTracker {
  private readonly emit: (row: AttemptRow) => void;
  private readonly starts: number[] = [1];
  private trained = false;
  /**
   * Iterations of each writer: the last one, the one before it, and whether one was printed twice: several ranks share
   * the key then.
   */
  private iterations = new Map<string, { last: number; before: number | null; shared: boolean }>();
  private firstLaunchSeen = false;
  private failed = false;
  /** Banners of this attempt, by writer. */
  private banners = new Set<string>();

  constructor(emit: (row: AttemptRow) => void) {
    this.emit = emit;
  }

  get current(): number {
    return this.starts.length;
  }

  /** Attempt of a line that was read before. */
  at(line: number): number {
    let attempt = this.starts.length;
    while (attempt > 1 && this.starts[attempt - 1]! > line) attempt -= 1;
    return attempt;
  }

  /** A launch is announced. */
  launch(key: string, label: string, line: number, timeUs: number | null): void {
    const banner = `${key}\n${label}`;
    const again = this.failed && this.banners.has(banner);
    if (this.trained || again) this.begin(line, `launch: ${label}`, timeUs);
    else if (!this.firstLaunchSeen) {
      this.firstLaunchSeen = true;
      if (this.current === 1) this.emit({ attempt: 1, line, origin: `launch: ${label}`, timeUs });
    }
    if (this.banners.size < MOST_BANNERS) this.banners.add(banner);
  }

  /** Call at a failure, or at a line that looks like one. */
  trouble(): void {
    this.failed = true;
  }

  /** An iteration was printed by the writer `key`. */
  iteration(key: string, iteration: number, line: number, timeUs: number | null): void {
    const known = this.iterations.get(key);
    if (known !== undefined) {
      const { last } = known;
      if (iteration === last) known.shared = true;
      // A slow rank's line comes after the others' next one. One behind is taken for that in any case, but for the
      // first.
      if (iteration === last || (known.shared && iteration === known.before)) return;
      if (iteration < last - 1 || (iteration === 1 && last > 1)) {
        this.begin(line, `iteration ${iteration} after ${last}`, timeUs);
      }
    }
    this.trained = true;
    const current = this.iterations.get(key);
    if (current === undefined) this.iterations.set(key, { last: iteration, before: null, shared: false });
    else {
      current.before = current.last;
      current.last = iteration;
    }
  }

  private begin(line: number, origin: string, timeUs: number | null): void {
    if (!this.firstLaunchSeen) this.emit({ attempt: 1, line: 1, origin: 'first line', timeUs: null });
    this.starts.push(line);
    this.trained = false;
    this.failed = false;
    this.banners = new Set();
    this.firstLaunchSeen = true;
    this.iterations = new Map();
    this.emit({ attempt: this.starts.length, line, origin, timeUs });
  }
}
