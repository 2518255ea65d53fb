/**
 * How each device spent its time, step by step. Overlapping times are joined, never added: every nanosecond of a window
 * is in one of four parts.
 */
import type { NsysBudget, NsysDeviceBudget, NsysStep } from '../../model/results/nsys.js';
import type { Store } from '../../store/store.js';

const COMPUTE = 0;
const COMMUNICATION = 1;
const COPY = 2;

type Mutable<Row> = { -readonly [Field in keyof Row]: Row[Field] };

/** Time of each combination of the three, per window. */
class Sweep {
  readonly windows: readonly { readonly start: number; readonly end: number }[];
  /** By window, 8 sums: the bits are computing, communicating, copying. */
  readonly sums: Float64Array;
  private readonly ends = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  private now = Number.NEGATIVE_INFINITY;
  private window = 0;

  constructor(windows: Sweep['windows']) {
    this.windows = windows;
    this.sums = new Float64Array(windows.length * 8);
  }

  /** Islands of one class follow each other; those of different classes come in the order of their starts. */
  add(start: number, end: number, kind: number): void {
    this.advance(start);
    this.ends[kind] = Math.max(this.ends[kind]!, end);
  }

  end(): void {
    this.advance(Number.POSITIVE_INFINITY);
  }

  private advance(until: number): void {
    while (this.now < until) {
      let mask = 0;
      let next = until;
      for (let kind = 0; kind < 3; kind++) {
        const end = this.ends[kind]!;
        if (end <= this.now) continue;
        mask |= 1 << kind;
        if (end < next) next = end;
      }
      if (mask !== 0) this.count(this.now, next, mask);
      this.now = next;
    }
  }

  private count(from: number, to: number, mask: number): void {
    while (this.window < this.windows.length && this.windows[this.window]!.end <= from) this.window += 1;
    for (let i = this.window; i < this.windows.length && this.windows[i]!.start < to; i++) {
      const { start, end } = this.windows[i]!;
      const shared = Math.min(to, end) - Math.max(from, start);
      if (shared > 0) this.sums[i * 8 + mask]! += shared;
    }
  }

  budget(i: number): NsysBudget {
    const { start, end } = this.windows[i]!;
    const sum = (wanted: (mask: number) => boolean): number => {
      let all = 0;
      for (let mask = 1; mask < 8; mask++) if (wanted(mask)) all += this.sums[i * 8 + mask]!;
      return all;
    };
    const has = (kind: number) => (mask: number) => (mask & (1 << kind)) !== 0;
    const busy = sum(() => true);
    return {
      window_ns: end - start,
      compute_ns: sum(has(COMPUTE)),
      exposed_communication_ns: sum((mask) => has(COMMUNICATION)(mask) && !has(COMPUTE)(mask)),
      exposed_copy_ns: sum((mask) => mask === 1 << COPY),
      idle_ns: end - start - busy,
      communication_ns: sum(has(COMMUNICATION)),
      copy_ns: sum(has(COPY)),
    };
  }
}

/** Without steps there is one window, `whole`. */
export async function deviceBudgets(
  store: Store,
  sourceId: number,
  steps: readonly NsysStep[],
  whole: { readonly start: number; readonly end: number },
): Promise<NsysDeviceBudget[]> {
  const budgets: NsysDeviceBudget[] = [];
  let current:
    | { readonly pid: number; readonly device: number; readonly sweep: Sweep; readonly ownSteps: readonly NsysStep[] }
    | undefined;
  const finish = (): void => {
    if (current === undefined) return;
    const { pid, device, sweep, ownSteps } = current;
    sweep.end();
    const each = sweep.windows.map((_, i) => sweep.budget(i));
    const counted = ownSteps.length > 1 ? each.slice(1) : each;
    budgets.push({
      pid: pid < 0 ? null : pid,
      device: device < 0 ? null : device,
      per_step: mean(counted),
      steps: ownSteps.map(({ index }, i) => ({ index, ...each[i]! })),
    });
  };
  const spec = { pid: 'i32', device: 'i32', class: 'i32', start_ns: 'f64', end_ns: 'f64' } as const;
  for await (const { rows, columns } of store.readQueryColumns('nsys.busy_islands', { source_id: sourceId }, spec)) {
    for (let row = 0; row < rows; row++) {
      const pid = columns.pid[row]!;
      const device = columns.device[row]!;
      if (current?.pid !== pid || current.device !== device) {
        finish();
        const ofProcess = steps.filter((step) => step.pid === pid);
        // A report of one process may have its ranges on another (a launcher's); then all steps apply to all processes.
        const ownSteps =
          ofProcess.length > 0 ? ofProcess : steps.every((step) => step.pid === steps[0]?.pid) ? steps : [];
        const windows =
          ownSteps.length > 0 ? ownSteps.map(({ start_ns, end_ns }) => ({ start: start_ns, end: end_ns })) : [whole];
        current = { pid, device, sweep: new Sweep(windows), ownSteps };
      }
      current.sweep.add(columns.start_ns[row]!, columns.end_ns[row]!, columns.class[row]!);
    }
  }
  finish();
  return budgets;
}

function mean(budgets: readonly NsysBudget[]): NsysBudget {
  const sum: Mutable<NsysBudget> = {
    window_ns: 0,
    compute_ns: 0,
    exposed_communication_ns: 0,
    exposed_copy_ns: 0,
    idle_ns: 0,
    communication_ns: 0,
    copy_ns: 0,
  };
  const keys = Object.keys(sum) as (keyof NsysBudget)[];
  for (const budget of budgets) for (const key of keys) sum[key] += budget[key];
  if (budgets.length > 0) for (const key of keys) sum[key] /= budgets.length;
  return sum;
}
