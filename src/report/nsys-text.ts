/** The screen of `mbforensics nsys`. */
import {
  DRIVER_OWNER_WORDS,
  type DriverOwner,
  type NsysBudget,
  type NsysComparison,
  type NsysDriverAccount,
  type NsysMemoryCurve,
  type NsysRangeWork,
  type NsysReport,
  type NsysResult,
} from '../model/nsys-results.js';
import { formatBytes, formatCount } from '../model/units.js';
import { keepEnd, printable, table, wrap } from './table.js';
import { bytesOr, countOr, labelled, shortText, UNKNOWN, WIDTH } from './text-pieces.js';

export interface NsysLook {
  /** Rows of each table. */
  readonly limit: number;
}

export function nsysText(result: NsysResult, look: NsysLook): string {
  const lines: string[] = [];
  if (result.against === undefined) for (const report of result.reports) lines.push(...reportLines(report, look), '');
  for (const { path, time_ns, stacks } of result.at ?? []) {
    lines.push(`${printable(path)} at ${seconds(time_ns)}`);
    if (stacks.length === 0) lines.push('  no NVTX range is open then');
    for (const { pid, tid, thread, ranges } of stacks) {
      const who = `  process ${pid ?? UNKNOWN}${tid === null ? '' : `, thread ${tid}${thread === null ? '' : ` ${printable(thread)}`}`}`;
      lines.push(who);
      for (const [depth, { text, start_ns, end_ns }] of ranges.entries()) {
        const length = end_ns === null ? 'never ended' : duration(end_ns - start_ns);
        const indent = Math.min(depth, 20) * 2;
        lines.push(`    ${' '.repeat(indent)}${shortText(text, 70 - indent)}  (from ${seconds(start_ns)}, ${length})`);
      }
    }
    lines.push('');
  }
  for (const { path, text, work } of result.range_work ?? []) lines.push(...rangeLines(path, text, work, look), '');
  for (const { path, series } of result.curves ?? []) lines.push(...curveLines(path, series), '');
  if (result.against !== undefined) lines.push(...comparisonLines(result.against, look));
  while (lines.at(-1) === '') lines.pop();
  return lines.join('\n');
}

function rangeLines(path: string, text: string, work: readonly NsysRangeWork[], { limit }: NsysLook): string[] {
  const lines = [`${printable(path)}: launched inside ranges with "${printable(text)}"`];
  if (work.length === 0) return [...lines, '  nothing'];
  const right = (title: string) => ({ title, align: 'right' as const });
  const rows = work
    .slice(0, limit)
    .map(({ work: kind, name, count, total_ns, bytes }) => [
      kind,
      shortText(name.replaceAll('_', kind === 'kernel' ? '_' : ' '), 60),
      formatCount(count),
      duration(total_ns),
      bytesOr(bytes),
    ]);
  const columns = [{ title: 'work' }, { title: 'name' }, right('times'), right('sum'), right('bytes')];
  return [...lines, table(columns, rows, '  '), ...more(work.length, limit)];
}

const LEVELS = ' ▁▂▃▄▅▆▇█';

/** One line a series: each sign is a slice, in eighths of the series' own most. */
function curveLines(path: string, series: readonly NsysMemoryCurve[]): string[] {
  const lines = [`${printable(path)}: the driver's memory over time`];
  if (series.length === 0) return [...lines, '  no memory event'];
  for (const { pid, device, kind, times_ns, bytes } of series) {
    const most = bytes.reduce((all, value) => Math.max(all, value), 0);
    const drawn = bytes.map((value) => LEVELS[most > 0 ? Math.ceil((8 * value) / most) : 0]).join('');
    const span = `${seconds(times_ns[0] ?? 0)} to ${seconds(times_ns.at(-1) ?? 0)}`;
    lines.push(
      `  process ${pid ?? UNKNOWN} device ${device ?? UNKNOWN} ${kind}: most ${formatBytes(most)}, ${span}`,
      `    ${drawn}`,
    );
  }
  return lines;
}

function reportLines(report: NsysReport, look: NsysLook): string[] {
  const lines = [headline(report)];
  const facts = [
    ...(report.gpus.length === 0 ? [] : [gpuWords(report.gpus)]),
    ...(report.host === null ? [] : [`host ${printable(report.host)}`]),
    ...(report.started_at === null ? [] : [`from ${report.started_at.slice(0, 19).replace('T', ' ')} UTC`]),
    ...(report.duration_ns === null ? [] : [`over ${duration(report.duration_ns)}`]),
  ];
  if (facts.length > 0) lines.push(...labelled('captured', facts.join(' · ')));
  const working = report.processes.filter(({ devices }) => devices.length > 0);
  if (working.length > 0) lines.push(...labelled('processes', working.map(processWords).join(', ')));
  const counts = [
    `${countOr(report.nvtx_ranges)} NVTX ranges`,
    `${countOr(report.kernels)} kernels`,
    `${countOr(report.copies)} copies`,
  ];
  lines.push(...labelled('events', counts.join(' · ')));
  if (report.failed_calls !== null && report.failed_calls.length > 0) lines.push('', ...failedLines(report, look));
  for (const account of report.accounts ?? []) lines.push('', ...accountLines(account, look));
  if (report.device_memory !== null && report.device_memory.length > 0) lines.push('', ...memoryLines(report, look));
  lines.push(...callLines(report, look));
  if (report.steps.length > 0 || (report.budgets ?? []).length > 0) lines.push('', ...stepLines(report));
  if ((report.copy_groups ?? []).length > 0) lines.push('', ...copyLines(report, look));
  if ((report.kernel_groups ?? []).length > 0) lines.push('', ...kernelLines(report, look));
  for (const { severity, text } of report.diagnostics.slice(0, Math.min(look.limit, 3))) {
    lines.push(...labelled(severity, shortText(text, 160)));
  }
  const left = report.diagnostics.length - Math.min(look.limit, 3);
  if (left > 0) lines.push(`  ${''.padEnd(12)}and ${left} more findings of the profiler`);
  for (const { what, option } of report.missing) lines.push(...labelled('not captured', `${what}: add ${option}`, 14));
  return lines;
}

/** `8 × NVIDIA H100 80GB HBM3 79.11 GiB`. */
function gpuWords(gpus: NsysReport['gpus']): string {
  const counts = new Map<string, number>();
  for (const { name, total_bytes } of gpus) {
    const words = `${name === null ? 'GPU' : printable(name)} ${bytesOr(total_bytes)}`;
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  return [...counts].map(([words, count]) => (count === 1 ? words : `${count} × ${words}`)).join(', ');
}

function headline({ path, form, nsys_version, schema_version, rank }: NsysReport): string {
  const version = nsys_version === null ? '' : ` · nsys ${printable(nsys_version)}`;
  const schema = schema_version === null ? '' : ` (schema ${printable(schema_version)})`;
  return `${printable(path)} · ${form}${version}${schema}${rank === null ? '' : ` · rank ${rank}`}`;
}

function processWords({ pid, name, rank, devices }: NsysReport['processes'][number]): string {
  const who = `${pid}${name === null ? '' : ` ${keepEnd(printable(name), 30)}`}`;
  return `${who}${rank === null ? '' : ` rank ${rank}`} on device ${devices.join(', ')}`;
}

function failedLines({ failed_calls }: NsysReport, { limit }: NsysLook): string[] {
  const calls = failed_calls ?? [];
  const rows = calls
    .slice(0, limit)
    .map(({ api, error, return_value, count, first_ns, last_ns, pid }) => [
      printable(api),
      error ?? `error ${return_value}`,
      formatCount(count),
      seconds(first_ns),
      seconds(last_ns),
      pid,
    ]);
  const columns = [
    { title: 'failed call' },
    { title: 'error' },
    { title: 'times', align: 'right' as const },
    { title: 'first', align: 'right' as const },
    { title: 'last', align: 'right' as const },
    { title: 'process', align: 'right' as const },
  ];
  return [table(columns, rows, '  '), ...more(calls.length, limit)];
}

function accountLines(account: NsysDriverAccount, { limit }: NsysLook): string[] {
  const { pid, device, rank, moments, groups } = account;
  const who = `process ${pid ?? UNKNOWN}${rank === null ? '' : ` rank ${rank}`} device ${device ?? UNKNOWN}`;
  const lines = [`  the driver's memory of ${who}`];
  const owners = [...new Set(moments.flatMap(({ shares }) => shares.map(({ owner }) => owner)))];
  const at = (moment: (typeof moments)[number], owner: DriverOwner): string => {
    const bytes = moment.shares.find((share) => share.owner === owner)?.bytes;
    return bytes === undefined ? UNKNOWN : formatBytes(bytes);
  };
  const columns = [
    { title: '' },
    ...moments.map(({ moment, time_ns }) => ({ title: `${moment} ${seconds(time_ns)}`, align: 'right' as const })),
  ];
  const rows = [
    ...owners.map((owner) => [DRIVER_OWNER_WORDS[owner], ...moments.map((moment) => at(moment, owner))]),
    ['sum', ...moments.map(({ total_bytes }) => formatBytes(total_bytes))],
  ];
  lines.push(table(columns, rows, '    '));
  for (const { moment, ranges } of moments) {
    for (const { thread, tid, texts } of ranges.slice(0, 4)) {
      lines.push(
        ...wrap(
          `    at the ${moment}: ${shortText(texts.join(' › '), 150)} (thread ${thread === null ? (tid ?? UNKNOWN) : printable(thread)})`,
          WIDTH,
          '      ',
        ),
      );
    }
  }
  const outside = groups.filter(({ owner }) => owner !== 'torch');
  if (outside.length > 0) {
    lines.push('', `    outside PyTorch, by what made it`);
    const shown = outside
      .slice(0, limit)
      .map((group) => [
        formatBytes(group.live_at_peak_bytes),
        group.live_at_oom_bytes === null ? UNKNOWN : formatBytes(group.live_at_oom_bytes),
        formatBytes(group.allocated_bytes),
        formatCount(group.allocations),
        DRIVER_OWNER_WORDS[group.owner],
        printable(group.api ?? UNKNOWN),
        shortText(group.ranges.length > 0 ? group.ranges.slice(-2).join(' › ') : (group.thread ?? UNKNOWN), 34),
      ]);
    const titles = ['at peak', 'at oom', 'allocated', 'times'].map((title) => ({ title, align: 'right' as const }));
    lines.push(table([...titles, { title: 'whose' }, { title: 'call' }, { title: 'range or thread' }], shown, '    '));
    lines.push(...more(outside.length, limit));
  }
  lines.push(...basisLines(account));
  return lines;
}

function basisLines({ snapshot, alignment, torch_unseen_bytes, vmm_calls }: NsysDriverAccount): string[] {
  const lines: string[] = [];
  if (snapshot === null) {
    lines.push(
      ...wrap("    no memory snapshot of this process: which of it is PyTorch's is only guessed", WIDTH, '    '),
    );
  } else if (alignment !== null) {
    const clocks =
      alignment.by === 'nominal'
        ? `clocks taken at their word (${alignment.pairs} segments found once on both sides)`
        : `clocks laid side by side by ${alignment.pairs} segments${apart(alignment.correction_us ?? 0)}, ±${Math.round(alignment.error_us ?? 0)} µs`;
    lines.push(...wrap(`    segments of ${printable(snapshot)}; ${clocks}`, WIDTH, '    '));
  }
  if ((torch_unseen_bytes ?? 0) > 0) {
    lines.push(
      ...wrap(
        `    ${formatBytes(torch_unseen_bytes ?? 0)} of PyTorch's reserve were taken before the capture, or page by page: no allocation of the driver is behind them`,
        WIDTH,
        '    ',
      ),
    );
  }
  if (vmm_calls > 0) {
    lines.push(
      ...wrap(
        `    ${formatCount(vmm_calls)} calls mapped memory page by page (cuMemCreate, cuMemMap): such memory is in none of these sums`,
        WIDTH,
        '    ',
      ),
    );
  }
  return lines;
}

/** A report without a clock of its own is years apart, which says nothing. */
const MOST_APART_US = 86_400e6;

function apart(correctionUs: number): string {
  return Math.abs(correctionUs) > MOST_APART_US ? '' : `, ${Math.round(correctionUs)} µs apart`;
}

function memoryLines({ device_memory }: NsysReport, { limit }: NsysLook): string[] {
  const all = device_memory ?? [];
  const rows = all
    .slice(0, limit)
    .map((row) => [
      row.pid,
      row.device,
      row.kind,
      formatBytes(row.peak_bytes),
      seconds(row.peak_ns),
      formatBytes(row.end_bytes),
      row.before_bytes === 0 ? UNKNOWN : formatBytes(row.before_bytes),
      formatCount(row.allocations),
      formatCount(row.frees),
    ]);
  const right = (title: string) => ({ title, align: 'right' as const });
  const columns = [
    right('process'),
    right('device'),
    { title: 'kind' },
    right('peak'),
    right('at'),
    right('end'),
    right('from before'),
    right('allocations'),
    right('frees'),
  ];
  return [table(columns, rows, '  '), ...more(all.length, limit)];
}

function callLines({ memory_calls, storms }: NsysReport, { limit }: NsysLook): string[] {
  const calls = (memory_calls ?? []).filter(({ busy_ns, failed }) => busy_ns > 0 || failed > 0);
  if (calls.length === 0) return [];
  const right = (title: string) => ({ title, align: 'right' as const });
  const rows = calls
    .slice(0, limit)
    .map((call) => [
      printable(call.api),
      call.pid,
      formatCount(call.count),
      call.per_step === null ? UNKNOWN : call.per_step.toFixed(1),
      formatCount(call.failed),
      duration(call.busy_ns),
      duration(call.longest_ns),
    ]);
  const columns = [
    { title: 'calls for memory' },
    right('process'),
    right('times'),
    right('a step'),
    right('failed'),
    right('time'),
    right('longest'),
  ];
  const lines = ['', table(columns, rows, '  '), ...more(calls.length, limit)];
  const retries = (storms ?? []).filter(({ is_retry }) => is_retry).length;
  if ((storms ?? []).length > 0) {
    const busy = (storms ?? []).reduce((sum, { busy_ns }) => sum + busy_ns, 0);
    const words = `${storms!.length} ${storms!.length === 1 ? 'burst' : 'bursts'} of frees, ${duration(busy)} in all; ${retries} of them after an allocation that failed (the cache was emptied to try again)`;
    lines.push(...labelled('thrashing', words));
  }
  return lines;
}

function stepLines({ steps, steps_by, budgets }: NsysReport): string[] {
  const lines: string[] = [];
  if (steps_by === null)
    lines.push(
      ...labelled(
        'steps',
        'none known: no range names them and none recurs; times are from the first to the last work of a device',
      ),
    );
  else {
    const own = steps.filter(({ pid }) => pid === steps[0]!.pid);
    const lengths = own.map(({ start_ns, end_ns }) => end_ns - start_ns).sort((a, b) => a - b);
    const how = { range: 'ranges', anchor: 'from the end of one to the next', recurring: 'recurring ranges' }[
      steps_by.by
    ];
    lines.push(
      ...labelled(
        'steps',
        `${own.length} (${how} "${shortText(steps_by.text, 50)}"), ${own[0]!.index} to ${own.at(-1)!.index}, median ${duration(lengths[lengths.length >> 1] ?? 0)}`,
      ),
    );
  }
  const right = (title: string) => ({ title, align: 'right' as const });
  const rows = (budgets ?? []).map(({ pid, device, per_step }) => [pid, device, ...budgetCells(per_step)]);
  if (rows.length > 0) {
    const title = steps_by === null ? 'capture' : 'step';
    lines.push(
      table(
        [
          right('process'),
          right('device'),
          right(title),
          right('compute'),
          right('communication alone'),
          right('copy alone'),
          right('idle'),
        ],
        rows,
        '  ',
      ),
    );
  }
  return lines;
}

function budgetCells({
  window_ns,
  compute_ns,
  exposed_communication_ns,
  exposed_copy_ns,
  idle_ns,
}: NsysBudget): string[] {
  const share = (ns: number): string =>
    `${duration(ns)} ${window_ns > 0 ? `${((100 * ns) / window_ns).toFixed(0)} %` : ''}`.trim();
  return [
    duration(window_ns),
    share(compute_ns),
    share(exposed_communication_ns),
    share(exposed_copy_ns),
    share(idle_ns),
  ];
}

function copyLines({ copy_groups }: NsysReport, { limit }: NsysLook): string[] {
  const groups = copy_groups ?? [];
  const rows = groups
    .slice(0, limit)
    .map(({ operation, direction, source_kind, target_kind, count, bytes, busy_ns }) => [
      operation === 'memset' ? 'set' : (direction ?? UNKNOWN).replaceAll('_', ' '),
      operation === 'memset' ? (target_kind ?? UNKNOWN) : `${source_kind ?? UNKNOWN} → ${target_kind ?? UNKNOWN}`,
      formatCount(count),
      formatBytes(bytes),
      duration(busy_ns),
      busy_ns > 0 ? `${((bytes / busy_ns) * (1e9 / 2 ** 30)).toFixed(1)} GiB/s` : UNKNOWN,
    ]);
  const right = (title: string) => ({ title, align: 'right' as const });
  return [
    table(
      [{ title: 'copies' }, { title: 'memory' }, right('times'), right('bytes'), right('time'), right('rate')],
      rows,
      '  ',
    ),
    ...more(groups.length, limit),
  ];
}

function kernelLines({ kernel_groups }: NsysReport, { limit }: NsysLook): string[] {
  const groups = kernel_groups ?? [];
  const rows = groups
    .slice(0, limit)
    .map(({ name, count, total_ns, median_ns }) => [
      shortText(name, 60),
      formatCount(count),
      duration(total_ns),
      duration(median_ns),
    ]);
  const right = (title: string) => ({ title, align: 'right' as const });
  return [
    table([{ title: 'kernel' }, right('times'), right('sum'), right('median')], rows, '  '),
    ...more(groups.length, limit),
  ];
}

function comparisonLines(
  { a, b, devices, kernels, memory_calls, warnings }: NsysComparison,
  { limit }: NsysLook,
): string[] {
  const lines = [`steps of ${printable(b)} less those of ${printable(a)}`];
  for (const warning of warnings) lines.push(...labelled('beware', printable(warning)));
  const right = (title: string) => ({ title, align: 'right' as const });
  for (const { rank, a_device, b_device, figures } of devices) {
    const who = rank === null ? `device ${a_device ?? UNKNOWN} and device ${b_device ?? UNKNOWN}` : `rank ${rank}`;
    const rows = figures.map(({ figure, a_ns, b_ns, delta_ns }) => [
      figure.replace('exposed_', '').replaceAll('_', ' ') +
        (figure.startsWith('exposed_') ? ' alone' : figure === 'communication' || figure === 'copy' ? ' in all' : ''),
      duration(a_ns),
      duration(b_ns),
      signed(delta_ns),
      a_ns > 0 ? `${delta_ns >= 0 ? '+' : ''}${((100 * delta_ns) / a_ns).toFixed(1)} %` : UNKNOWN,
    ]);
    lines.push(
      '',
      `  ${who}`,
      table([{ title: 'a step' }, right(printable(a)), right(printable(b)), right('change'), right('')], rows, '    '),
    );
  }
  const moved = kernels.filter(({ delta_ns }) => delta_ns !== 0);
  if (moved.length > 0) {
    const rows = moved
      .slice(0, limit)
      .map(({ name, a_per_step_ns, b_per_step_ns, delta_ns, a_per_step, b_per_step }) => [
        signed(delta_ns),
        duration(a_per_step_ns),
        duration(b_per_step_ns),
        a_per_step.toFixed(1),
        b_per_step.toFixed(1),
        shortText(name, 40),
      ]);
    lines.push(
      '',
      table([right('change'), right('time'), right(''), right('launches'), right(''), { title: 'kernel' }], rows, '  '),
      ...more(moved.length, limit),
    );
  }
  const calls = memory_calls.filter(({ a_per_step, b_per_step }) => (a_per_step ?? 0) > 0 || (b_per_step ?? 0) > 0);
  for (const { api, a_per_step, b_per_step } of calls.slice(0, limit)) {
    const times = (value: number | null): string => (value === null ? UNKNOWN : value.toFixed(1));
    lines.push(...labelled('calls', `${printable(api)}: ${times(a_per_step)} a step, then ${times(b_per_step)}`));
  }
  return lines;
}

function more(count: number, limit: number): string[] {
  return count > limit ? [`    and ${formatCount(count - limit)} more (--limit 0)`] : [];
}

/** Seconds of the report's clock. */
function seconds(ns: number): string {
  return `${(ns / 1e9).toFixed(3)} s`;
}

export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  if (size < 1e6) return `${(ns / 1e3).toFixed(1)} µs`;
  return size < 1e9 ? `${(ns / 1e6).toFixed(1)} ms` : `${(ns / 1e9).toFixed(2)} s`;
}

function signed(ns: number): string {
  return ns > 0 ? `+${duration(ns)}` : duration(ns);
}
