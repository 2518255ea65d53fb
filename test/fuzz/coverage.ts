/** Which blocks of our code an input reaches that no input before it reached, as V8 counts them. */
import { Session } from 'node:inspector';

interface FunctionRanges {
  readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[];
}
interface ScriptRanges {
  readonly url: string;
  readonly functions: readonly FunctionRanges[];
}

/** Runs of a block in one input that count as different: 1, 2 to 3, 4 to 15, 16 to 255, more. */
const bucketOf = (count: number): number => (count < 2 ? 1 : count < 4 ? 2 : count < 16 ? 3 : count < 256 ? 4 : 5);
/** Offsets in a script are below this; two of them and a bucket stay an exact number. */
const MOST_OFFSET = 2 ** 22;

export class Coverage {
  private readonly session = new Session();
  private readonly isOurs: (url: string) => boolean;
  private readonly seen = new Map<string, Set<number>>();
  /** Blocks reached so far. */
  blocks = 0;

  /** Call before the code is loaded: what was compiled without counters stays so. */
  constructor(isOurs: (url: string) => boolean) {
    this.isOurs = isOurs;
    this.session.connect();
    this.post('Profiler.enable');
    this.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /**
   * Blocks that were first reached since the last call. `isOneInput`: also those whose number of runs has a size that
   * is new; over several inputs it means nothing.
   */
  take(isOneInput: boolean): Set<string> {
    const fresh = new Set<string>();
    this.visit((url, block, count) => {
      let seen = this.seen.get(url);
      if (seen === undefined) {
        seen = new Set();
        this.seen.set(url, seen);
      }
      if (!seen.has(block)) {
        seen.add(block);
        this.blocks += 1;
        fresh.add(`${url} ${block}`);
      }
      if (!isOneInput) return;
      const sized = block + bucketOf(count);
      if (seen.has(sized)) return;
      seen.add(sized);
      fresh.add(`${url} ${block}`);
    });
    return fresh;
  }

  /** Whether one of these blocks was reached since the last call. */
  reaches(blocks: ReadonlySet<string>): boolean {
    let isReached = false;
    this.visit((url, block) => {
      isReached ||= blocks.has(`${url} ${block}`);
    });
    return isReached;
  }

  private visit(take: (url: string, block: number, count: number) => void): void {
    const { result } = this.post('Profiler.takePreciseCoverage') as { readonly result: readonly ScriptRanges[] };
    for (const { url, functions } of result) {
      if (!this.isOurs(url)) continue;
      for (const { ranges } of functions) {
        for (const { startOffset, endOffset, count } of ranges)
          if (count > 0) take(url, (startOffset * MOST_OFFSET + endOffset) * 8, count);
      }
    }
  }

  private post(method: string, parameters: object = {}): unknown {
    let answer: unknown;
    let failure: Error | null = null;
    this.session.post(method, parameters, (error, result) => {
      failure = error;
      answer = result;
    });
    if (failure !== null) throw failure;
    return answer;
  }
}
