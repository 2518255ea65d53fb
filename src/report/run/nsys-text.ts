/** The screen of `mbforensics nsys`. */
import { pushAll } from '../../model/lists.js';
import { LOST_EVENTS } from '../../model/nsys-rows.js';
import type { NsysReport, NsysResult } from '../../model/results/nsys.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { keepEnd, left, printable, right, tableOf } from '../table.js';
import { labelled, shortText, UNKNOWN } from '../text-pieces.js';
import { accountLines } from './nsys/account-lines.js';
import { comparisonLines } from './nsys/comparison-lines.js';
import { duration, more, type NsysLook, seconds } from './nsys/pieces.js';
import { copyLines, curveLines, kernelLines, rangeLines, stepLines } from './nsys/work-lines.js';

export function nsysText(result: NsysResult, look: NsysLook): string {
  const lines: string[] = [];
  if (result.against === undefined)
    for (const report of result.reports) pushAll(lines, [...reportLines(report, look), '']);
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
  for (const { path, text, work } of result.range_work ?? [])
    pushAll(lines, [...rangeLines(path, text, work, look), '']);
  for (const { path, series } of result.curves ?? []) pushAll(lines, [...curveLines(path, series), '']);
  if (result.against !== undefined) pushAll(lines, comparisonLines(result.against, look));
  while (lines.at(-1) === '') lines.pop();
  return lines.join('\n');
}

function reportLines(report: NsysReport, look: NsysLook): string[] {
  const lines = [headline(report)];
  const facts = [
    ...(report.gpus.length === 0 ? [] : [gpuWords(report.gpus)]),
    ...(report.host === null ? [] : [`host ${printable(report.host)}`]),
    ...(report.started_at === null ? [] : [`from ${report.started_at.slice(0, 19).replace('T', ' ')} UTC`]),
    ...(report.duration_ns === null ? [] : [`over ${duration(report.duration_ns)}`]),
  ];
  if (facts.length > 0) pushAll(lines, labelled('captured', facts.join(' · ')));
  const working = report.processes.filter(({ devices }) => devices.length > 0);
  if (working.length > 0) pushAll(lines, labelled('processes', working.map(processWords).join(', ')));
  const counts = [
    ...countOf(report.nvtx_ranges, 'NVTX range'),
    ...countOf(report.kernels, 'kernel'),
    ...countOf(report.copies, 'copy', 'copies'),
  ];
  pushAll(lines, labelled('events', counts.length === 0 ? 'no NVTX range, kernel or copy' : counts.join(' · ')));
  pushAll(lines, absentLines(report));
  if (report.failed_calls !== null && report.failed_calls.length > 0)
    pushAll(lines, ['', ...failedLines(report, look)]);
  for (const account of report.accounts ?? []) pushAll(lines, ['', ...accountLines(account, look)]);
  if (report.device_memory !== null && report.device_memory.length > 0)
    pushAll(lines, ['', ...memoryLines(report, look)]);
  pushAll(lines, callLines(report, look));
  if (report.steps.length > 0 || (report.budgets ?? []).length > 0) pushAll(lines, ['', ...stepLines(report)]);
  if ((report.copy_groups ?? []).length > 0) pushAll(lines, ['', ...copyLines(report, look)]);
  if ((report.kernel_groups ?? []).length > 0) pushAll(lines, ['', ...kernelLines(report, look)]);
  const diagnostics = report.diagnostics.filter(({ severity, text }) => severity !== 'info' || LOST_EVENTS.test(text));
  for (const { severity, text, count } of diagnostics.slice(0, Math.min(look.limit, 3))) {
    pushAll(lines, labelled(severity, `${shortText(text, 160)}${count > 1 ? ` (${formatCount(count)} times)` : ''}`));
  }
  const hidden = diagnostics.length - Math.min(look.limit, 3);
  if (hidden > 0) lines.push(`  ${''.padEnd(12)}and ${hidden} more findings of the profiler`);
  pushAll(lines, keptLines(report));
  for (const missing of report.missing) pushAll(lines, missingLines(missing));
  return lines;
}

function countOf(count: number | null, word: string, plural = `${word}s`): string[] {
  return count === null ? [] : [`${formatCount(count)} ${count === 1 ? word : plural}`];
}

/** Of `ingest --nsys-all`: every table is in the store, or named here. */
function keptLines({ tables, tables_not_kept }: NsysReport): string[] {
  if (tables_not_kept === null) return [];
  const kept = Object.keys(tables).length - tables_not_kept.length;
  const byReason = new Map<string, string[]>();
  for (const { name, reason } of tables_not_kept) byReason.set(reason, [...(byReason.get(reason) ?? []), name]);
  const lines = labelled('tables', `${formatCount(kept)} copied to nsys_raw`);
  for (const [reason, names] of byReason)
    pushAll(lines, labelled('', `not copied: ${names.map(printable).join(', ')} (${reason})`));
  return lines;
}

/** What an export does not contain of the machine and the collection. */
function absentLines({ form, gpus, nsys_version, started_at, duration_ns, host }: NsysReport): string[] {
  const absent = [
    ...(gpus.length === 0 ? ['GPUs'] : []),
    ...(nsys_version === null ? ['version of nsys'] : []),
    ...(started_at === null ? ['start time'] : []),
    ...(duration_ns === null ? ['duration'] : []),
    ...(host === null ? ['host'] : []),
  ];
  if (absent.length === 0) return [];
  const why = form === 'jsonlines' ? '; JSON exports have none of them, `nsys export --type sqlite` has' : '';
  return labelled('not in file', `${absent.join(', ')}${why}`, 13);
}

/** A switch is advised only where it was off. */
function missingLines({ what, state, option, reasons }: NsysReport['missing'][number]): string[] {
  const why = reasons.map((reason) => shortText(reason, 240).replace(/\.$/, '')).join('; ');
  if (option !== null) return labelled('not captured', `${what}: add ${option}${why === '' ? '' : ` (${why})`}`, 15);
  if (state === 'on') return labelled('none recorded', `${what}; tracing was on${why === '' ? '' : `; ${why}`}`, 15);
  const unknown = 'the settings of the capture are unknown';
  return labelled('not in report', `${what}; ${why === '' ? unknown : `${unknown}; ${why}`}`, 15);
}

/** `8 × NVIDIA H100 80GB HBM3 79.11 GiB`. */
function gpuWords(gpus: NsysReport['gpus']): string {
  const counts = new Map<string, number>();
  for (const { name, total_bytes } of gpus) {
    const words = `${name === null ? 'GPU' : printable(name)}${total_bytes === null ? '' : ` ${formatBytes(total_bytes)}`}`;
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
  return [
    tableOf(calls.slice(0, limit), [
      left('failed call', ({ api }) => printable(api)),
      left('error', ({ error, return_value }) => error ?? `error ${return_value}`),
      right('times', ({ count }) => formatCount(count)),
      right('first', ({ first_ns }) => seconds(first_ns)),
      right('last', ({ last_ns }) => seconds(last_ns)),
      right('process', ({ pid }) => pid),
    ]),
    ...more(calls.length, limit),
  ];
}

function memoryLines({ device_memory }: NsysReport, { limit }: NsysLook): string[] {
  const all = device_memory ?? [];
  return [
    tableOf(all.slice(0, limit), [
      right('process', (row) => row.pid),
      right('device', (row) => row.device),
      left('kind', (row) => row.kind),
      right('peak', (row) => formatBytes(row.peak_bytes)),
      right('at', (row) => seconds(row.peak_ns)),
      right('end', (row) => formatBytes(row.end_bytes)),
      all.some((row) => row.before_bytes > 0) && right('from before', (row) => formatBytes(row.before_bytes)),
      right('allocations', (row) => formatCount(row.allocations)),
      right('frees', (row) => formatCount(row.frees)),
    ]),
    ...more(all.length, limit),
  ];
}

function callLines({ memory_calls, storms }: NsysReport, { limit }: NsysLook): string[] {
  const calls = (memory_calls ?? []).filter(({ busy_ns, failed }) => busy_ns > 0 || failed > 0);
  if (calls.length === 0) return [];
  const lines = [
    '',
    tableOf(calls.slice(0, limit), [
      left('calls for memory', (call) => printable(call.api)),
      right('process', (call) => call.pid),
      right('times', (call) => formatCount(call.count)),
      calls.some(({ per_step }) => per_step !== null) && right('a step', (call) => call.per_step?.toFixed(1) ?? ''),
      right('failed', (call) => formatCount(call.failed)),
      right('time', (call) => duration(call.busy_ns)),
      right('longest', (call) => duration(call.longest_ns)),
    ]),
    ...more(calls.length, limit),
  ];
  const retries = (storms ?? []).filter(({ is_retry }) => is_retry).length;
  if ((storms ?? []).length > 0) {
    const busy = (storms ?? []).reduce((sum, { busy_ns }) => sum + busy_ns, 0);
    const words = `${storms!.length} ${storms!.length === 1 ? 'burst' : 'bursts'} of frees, ${duration(busy)} in all; ${retries} of them after an allocation that failed (the cache was emptied to try again)`;
    pushAll(lines, labelled('thrashing', words));
  }
  return lines;
}
