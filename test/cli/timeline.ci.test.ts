/** `mbforensics timeline` as a user has it: what is drawn, what is counted, and what is refused. */
import { describe, expect, it } from 'vitest';
import type { PyValue } from '../../samples/generate/write/pickle-writer.js';
import { PyText } from '../../samples/generate/write/pickle-writer.js';
import type { TimelineResult, TimelineTrace } from '../../src/model/results/timeline.js';
import { GIB, MIB } from '../../src/model/units.js';
import { asker, expectFits } from '../support/ask.js';
import { BASE, type SmallEntry, smallSnapshot } from '../support/small-snapshot.js';

const T0 = 1_700_000_000_000_000;
const ENTRIES_PER_STEP = 30;
const STEPS = 6;

/** One entry a millisecond. Each step keeps 64 MiB and has 1 GiB for a moment; the last one fails. */
function leakingTrace(): SmallEntry[] {
  const entries: SmallEntry[] = [];
  const add = (action: string, addr: number, size: number): void => {
    entries.push({ action, addr, size, extra: { time_us: T0 + entries.length * 1000 } });
  };
  add('segment_alloc', BASE, 4 * GIB);
  for (let step = 0; step < STEPS; step += 1) {
    add('alloc', BASE + step * 64 * MIB, 64 * MIB);
    for (let i = 0; entries.length % ENTRIES_PER_STEP < ENTRIES_PER_STEP - 3; i += 1)
      for (const action of ['alloc', 'free_requested', 'free_completed'])
        add(action, BASE + 2 * GIB, i === 3 ? GIB : 128 * MIB);
    while (entries.length % ENTRIES_PER_STEP !== 0) add('user_defined', BASE, 0);
  }
  entries.push({ action: 'oom', size: 8 * GIB, extra: { time_us: T0 + entries.length * 1000, device_free: 5 * MIB } });
  return entries;
}

function annotations(): PyValue[] {
  const note = (stage: string, name: string, time_us: number): PyValue =>
    new Map<string, PyValue>([
      ['stage', new PyText(stage)],
      ['name', new PyText(name)],
      ['device', 0],
      ['time_us', time_us],
    ]);
  return Array.from({ length: STEPS }, (_, step) => {
    const [from, to] = [step, step + 1].map((n) => T0 + n * ENTRIES_PER_STEP * 1000 - 500) as [number, number];
    return [
      note('START', `ProfilerStep#${step + 10}`, from),
      note('START', 'nccl:all_reduce', from + 5000),
      note('END', 'nccl:all_reduce', from + 9000),
      note('END', `ProfilerStep#${step + 10}`, to),
    ];
  }).flat();
}

const { cli, options, mbf, json, text, put } = asker();
const kept = Array.from({ length: STEPS }, () => ({ size: 64 * MIB }));
const inactive = { size: 4 * GIB - STEPS * 64 * MIB, state: 'inactive' } as const;
const path = put(
  'snapshot_0.pickle',
  smallSnapshot({
    segments: [[...kept, inactive]],
    entries: leakingTrace(),
    top: { external_annotations: annotations() },
  }),
);
const bare = put('snapshot_1.pickle', smallSnapshot());

const ask = (...args: string[]) => mbf('timeline', path, ...args);
const trace = (...args: string[]): TimelineTrace =>
  json<TimelineResult>('timeline', path, ...args).snapshots[0]!.devices[0]!.trace!;

describe('timeline', () => {
  it('draws a chart that fits its width, with marks, a table of steps and their growth', () => {
    const { stdout, stderr } = ask('--width', '80', '--height', '8');
    expect(stderr).toBe('');
    const lines = stdout.split('\n');
    expectFits(stdout);
    const chart = lines.slice(lines.findIndex((line) => line.trim() === 'GiB') + 1).slice(0, 9);
    expect(chart.every((line) => line.length <= 80)).toBe(true);
    expect(chart[0]).toMatch(/^ {5}4 ┤░/);
    expect(chart[8]).toMatch(/^ {5}0 └─+$/);
    expect(stdout).toMatch(/^ marks .*P.*O$/m);
    expect(stdout).toMatch(/^ steps {2}\|10 +\|11 +\|12 +\|13 +\|14 +\|15/m);
    expect(stdout).toContain(
      'O  out of memory: requested 8.00 GiB, 5.00 MiB free on the device (entry 180, +180.00 ms)',
    );
    expect(stdout).toContain('steps of the torch profiler (ProfilerStep#N)');
    // Steps 11 to 15 each end 64 MiB higher; step 10 is warm-up.
    expect(stdout).toContain(
      'growth +64.00 MiB/step (median of 4, spread +64.00 MiB to +64.00 MiB): more active after',
    );
    expect(stdout).not.toMatch(/\bNaN\b|undefined|null|Infinity/);
  });

  it('gives the same figures as a document', () => {
    const { columns, marks, steps, range, ...rest } = trace();
    expect(rest).toMatchObject({
      entries: 181,
      zoomed: false,
      by: 'index',
      entries_per_row: 1,
      basis: 'actual',
      column_count: 181,
    });
    expect(range).toEqual({ first_seq: 0, last_seq: 180, first_time_us: T0, last_time_us: T0 + 180_000 });
    expect(columns).toHaveLength(181);
    // The last of the six is the first to have all of 384 MiB and the GiB.
    const peak = STEPS * 64 * MIB + GIB;
    expect(marks.peak_active.bytes).toBe(peak);
    expect(columns.findIndex((column) => column.active_max_bytes === peak)).toBe(marks.peak_active.first_seq);
    expect(marks.ooms).toEqual([
      { seq: 180, time_us: T0 + 180_000, requested_bytes: 8 * GIB, device_free_bytes: 5 * MIB },
    ]);
    expect(marks).toMatchObject({ flush_count: 0, snapshots: [], annotations: [] });
    expect(steps.origin).toBe('profiler_step');
    expect(steps.rows.map((step) => step.step)).toEqual([10, 11, 12, 13, 14, 15]);
    expect(steps.rows.map((step) => step.end_active_bytes)).toEqual([1, 2, 3, 4, 5, 6].map((n) => n * 64 * MIB));
    expect(steps.rows.map((step) => step.start_active_bytes)).toEqual(
      [null, 1, 2, 3, 4, 5].map((n) => n && n * 64 * MIB),
    );
    for (const step of steps.rows) {
      expect(step.partial).toBeNull();
      expect(step.peak_active_bytes).toBe(step.end_active_bytes + GIB);
      expect(step.frees).toBe(step.allocs - 1);
      expect(step.duration_us).toBe(ENTRIES_PER_STEP * 1000);
      expect(columns[step.peak_first_seq]!.active_max_bytes).toBe(step.peak_active_bytes);
    }
    expect(steps.growth).toMatchObject({ trend: 'rising', n: 4, median_bytes_per_step: 64 * MIB });
  });

  it('gives the series as CSV, as wide as asked', () => {
    const lines = ask('--csv', '--width', '10').stdout.trimEnd().split('\n');
    expect(lines[0]).toBe(
      'snapshot,rank,device,column,first_seq,last_seq,first_time_us,last_time_us,allocated_min_bytes,allocated_max_bytes,active_min_bytes,active_max_bytes,reserved_min_bytes,reserved_max_bytes',
    );
    const columns = trace('--width', '10').columns;
    expect(lines.slice(1).map((line) => Number(line.split(',')[11]))).toEqual(
      columns.map((column) => column.active_max_bytes),
    );
    expect(lines).toHaveLength(11);
  });

  it('zooms to steps, entries, times, the peak and the failure', () => {
    const complete = trace();
    const span = (...args: string[]): number[] => {
      const { range, zoomed } = trace(...args);
      expect(zoomed).toBe(true);
      return [range.first_seq, range.last_seq];
    };
    const step = complete.steps.rows[2]!;
    expect(span('--from', 'step:12', '--to', 'step:12')).toEqual([step.first_seq, step.last_seq]);
    expect(span('--from', 'seq:5', '--to', 'seq:7')).toEqual([5, 7]);
    expect(span('--from', `time:${T0 + 5500}`, '--to', `time:${T0 + 7999}`)).toEqual([5, 7]);
    expect(span('--from', 'peak')).toEqual([complete.marks.peak_active.first_seq, 180]);
    expect(span('--to', 'oom')).toEqual([0, 180]);
    expect(span('--from', 'start', '--to', 'end')).toEqual([0, 180]);
    const zoomed = trace('--from', 'step:12', '--to', 'step:13');
    expect(zoomed.steps.rows.map((row) => row.peak_active_bytes)).toEqual(
      complete.steps.rows.slice(2, 4).map((row) => row.peak_active_bytes),
    );
    expect(zoomed.marks.ooms).toEqual([]);
    // Columns of the range are those of the whole, except that the first includes what was before it.
    expect(zoomed.columns.slice(1)).toEqual(
      complete.columns
        .slice(step.first_seq + 1, complete.steps.rows[3]!.last_seq + 1)
        .map((column, i) => ({ ...column, column: i + 1 })),
    );
  });

  it('divides by time, and marks annotations on demand', () => {
    const timed = trace('--by', 'time', '--width', '500', '--annotations', 'ALL_reduce');
    expect(timed).toMatchObject({ by: 'time', column_count: 500 });
    expect(timed.columns).toHaveLength(500);
    expect(timed.columns.some((column) => column.first_seq === null)).toBe(true);
    expect(timed.marks.annotations).toHaveLength(STEPS);
    expect(timed.marks.annotations[0]).toEqual({
      name: 'nccl:all_reduce',
      device: 0,
      first_seq: 5,
      last_seq: 8,
      start_us: T0 + 4500,
      end_us: T0 + 8500,
    });
    expect(ask('--annotations').stdout).toMatch(/^ {5}a {2}=/m);
    const marked = ask('--annotations', 'reduce').stdout;
    expect(marked).toContain('a  nccl:all_reduce ×6');
    // Each range of four entries takes two or three columns of the 92, and there are six.
    expect(/^ {5}a {2}( *(={2,3})){6}$/m.exec(marked)?.[0]).toBeDefined();
  });

  it('draws with ASCII on request, and if the locale supports nothing else', () => {
    const ascii = ask('--ascii').stdout;
    expect(ascii).toMatch(/^[\n -~]*$/);
    const inLocale = (env: Readonly<Record<string, string>>): string =>
      cli.expect(0, ['timeline', path], { ...options, env: { ...options.env, ...env } }).stdout;
    expect(inLocale({ LC_ALL: 'C' })).toBe(ascii);
    for (const locale of ['en_US.utf8', 'de_DE.UTF-8', ''])
      expect(inLocale({ LC_ALL: locale, LC_CTYPE: '', LANG: '' })).toContain('█');
  });

  it('reports that no trace was recorded', () => {
    expect(text('timeline', bare)).toContain('no trace recorded; at the dump 2.00 MiB active of 2.00 MiB reserved');
  });

  it('lists the last steps, or all', () => {
    const few = ask('--limit', '2').stdout;
    expect(few).toContain('4 earlier steps left out');
    expect(few).toContain('highest peak: 1.38 GiB in step 15');
    expect(ask('--limit', '0').stdout).not.toContain('left out');
  });

  it.each([
    [['--from', 'step:99'], /MBF1002: no moment step:99: device 0 has steps 10 to 15/],
    [['--from', 'seq:181'], /MBF1002: no moment seq:181: the trace of device 0 has entries 0 to 180/],
    [['--to', 'time:5'], /MBF1002: no moment time:5/],
    [['--from', 'noon'], /MBF1001: invalid moment "noon"/],
    [['--from', 'seq:9', '--to', 'seq:8'], /MBF1001: --from is entry 9/],
    [['--device', '3'], /MBF1002: none of these snapshots has a device 3/],
    [['--device', 'x'], /MBF1001/],
    [['--by', 'space'], /MBF1001/],
    [['--width', '19'], /MBF1001/],
    [['--height', '0'], /MBF1001/],
    [['--limit', '-1'], /MBF1001/],
    [['--csv', '--json=full'], /MBF1001/],
  ])('refuses %j', (args, message) => {
    const answer = cli.run(['timeline', path, ...args], options);
    expect(answer.stderr).toMatch(message);
    if (args.includes('--json=full')) expect(JSON.parse(answer.stdout)).toMatchObject({ code: 'MBF1001' });
    else expect(answer.stdout).toBe('');
    expect(answer.status).toBe(2);
  });

  it('has help with examples', () => {
    const { stdout } = mbf('timeline', '--help');
    expect(stdout.split('\nExamples:\n')[1]).toMatch(/^( {2}\$ mbforensics timeline.*\n){3,}/);
  });
});
