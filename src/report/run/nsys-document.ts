/** What an Nsight Systems export contains. */
import { groupBy } from '../../model/group-by.js';
import { sumOf } from '../../model/lists.js';
import { LOST_EVENTS } from '../../model/nsys-rows.js';
import type { NsysRangeStack, NsysReport, NsysResult } from '../../model/results/nsys.js';
import * as d from '../document/document.js';
import { excerpt, formatValue } from '../document/values.js';
import { printable } from '../plain-text.js';
import { accountSection } from './nsys/accounts.js';
import { comparisonSection } from './nsys/comparison.js';
import { left, limited, type NsysLook, processText, since, time } from './nsys/pieces.js';
import { stepSection } from './nsys/steps.js';
import { budgetTable, copyTable, curveSection, kernelTable, rangeSection } from './nsys/work.js';

/** Findings of the profiler. */
const MOST_DIAGNOSTICS = 3;
/** Ranges are indented by their depth, up to this one. */
const MOST_DEPTH = 10;
/** Characters of a name that are always shown, and of the mark of those that are left out. */
const LEAST_NAME = 20;
const MARK = 26;

export function nsysDocument(result: NsysResult, look: NsysLook): d.Document {
  const { schema, reports, at = [], range_work: ranges = [], curves = [], against } = result;
  return d.document(
    schema,
    '',
    ...(against === undefined ? reports.map((report) => reportSection(report, look)) : []),
    ...at.map(({ path, time_ns: when, stacks }) =>
      d.section(
        d.t`${d.code(path)} at ${since(when)}`,
        { key: 'at', isOneOf: true, fields: { path, time_ns: when } },
        ...stacks.map(stackSection),
        stacks.length === 0 && d.paragraph('no NVTX range is open then'),
      ),
    ),
    ...ranges.map(({ path, text, work }) => rangeSection(path, text, work, look)),
    ...curves.map(({ path, series }) => curveSection(path, series)),
    against !== undefined && comparisonSection(against, look),
  );
}

function stackSection({ pid, tid, thread, rank, ranges }: NsysRangeStack): d.MaybePart {
  const who = tid === null ? '' : `thread ${tid}${thread === null ? '' : ` ${thread}`}`;
  return d.section(
    d.joined([processText({ pid, rank: null, device: null }), who], ', '),
    { key: 'stacks', isOneOf: true, fields: { pid, tid, rank, ranges: ranges.map(({ text }) => text) } },
    {
      type: 'drawing',
      lines: (width) =>
        ranges.map(({ text, start_ns: from, end_ns: to }, depth) => {
          const indent = ' '.repeat(2 * Math.min(depth, MOST_DEPTH - 1));
          const length = to === null ? 'never ended' : formatValue(to - from, 'ns');
          const when = `  (from ${formatValue(from, 'since_ns')}, ${length})`;
          const name = printable(text.replaceAll(/\s+/g, ' '));
          return `${indent}${excerpt(name, Math.max(LEAST_NAME, width - indent.length - when.length - MARK))}${when}`;
        }),
    },
  );
}

function reportSection(report: NsysReport, look: NsysLook): d.MaybePart {
  const { path, form, nsys_version: version, schema_version: schema, rank, accounts } = report;
  return d.section(
    d.t`${d.as('path', d.code(path))} · ${d.as('form', form)}${version === null ? '' : ` · nsys ${version}`}${schema === null ? '' : ` (schema ${schema})`}${rank === null ? '' : d.t` · rank ${rank}`}`,
    { key: 'reports', isOneOf: true, fields: { nsys_version: version, schema_version: schema, rank } },
    d.facts(reportFacts(report)),
    failedTable(report, look),
    ...(accounts ?? []).map((account) => accountSection(account, look)),
    memoryTable(report, look),
    ...callParts(report, look),
    (report.steps.length > 0 || (report.budgets ?? []).length > 0) && stepSection(report),
    budgetTable(report),
    copyTable(report.copy_groups ?? [], look),
    kernelTable(report, look),
    ...diagnosticParts(report, look),
    d.section('Missing', {}, d.items(report.missing.map(missingText), { key: 'missing' })),
  );
}

function reportFacts(report: NsysReport): (d.Fact | null | false)[] {
  const { gpus, host, started_at: start, duration_ns: length, processes, tables_not_kept: notKept } = report;
  const captured = d.joined(
    [
      gpus.length > 0 && gpuText(gpus),
      host !== null && d.t`host ${d.as('host', d.code(host))}`,
      start !== null && `from ${start.slice(0, 19).replace('T', ' ')} UTC`,
      length !== null && d.t`over ${d.as('duration_ns', time(length))}`,
    ],
    ' · ',
  );
  const working = processes.filter(({ devices }) => devices.length > 0);
  const events = d.joined(
    [
      report.nvtx_ranges !== null && d.counted(report.nvtx_ranges, 'NVTX range', 'NVTX ranges', 'nvtx_ranges'),
      report.kernels !== null && d.counted(report.kernels, 'kernel', 'kernels', 'kernels'),
      report.copies !== null && d.counted(report.copies, 'copy', 'copies', 'copies'),
    ],
    ' · ',
  );
  const absent = absentText(report);
  return [
    isSome(captured) && d.fact('captured', captured),
    working.length > 0 && d.fact('processes', d.joined(working.map(processWords), ', ')),
    d.fact('events', isSome(events) ? events : 'no NVTX range, kernel or copy'),
    absent !== '' && d.fact('not_in_file', absent),
    notKept !== null &&
      d.fact(
        'tables',
        d.joined(
          [
            d.t`${d.count(Object.keys(report.tables).length - notKept.length)} copied to nsys_raw`,
            ...[...groupBy(notKept, ({ reason }) => reason)].map(
              ([reason, of]) => `not copied: ${of.map(({ name }) => name).join(', ')} (${reason})`,
            ),
          ],
          '; ',
        ),
      ),
  ];
}

const isSome = (text: d.Text): boolean => !Array.isArray(text) || text.length > 0;

/** `8 × NVIDIA H100 80GB HBM3 79.11 GiB`. */
const gpuText = (gpus: NsysReport['gpus']): d.Text =>
  d.joined(
    [...groupBy(gpus, ({ name, total_bytes: total }) => `${name} ${total}`).values()].map(([first, ...others]) => {
      const { name, total_bytes: total } = first!;
      const times = others.length === 0 ? '' : d.t`${d.count(others.length + 1)} × `;
      return d.t`${times}${name ?? 'GPU'}${total === null ? '' : d.t` ${d.bytes(total)}`}`;
    }),
    ', ',
  );

const processWords = ({ pid, name, rank, devices }: NsysReport['processes'][number]): d.Text =>
  d.t`${{ value: pid, unit: 'number' }}${name === null ? '' : d.t` ${d.code(name)}`}${rank === null ? '' : d.t` rank ${rank}`} on device ${devices.join(', ')}`;

/** What an export does not contain of the machine and the collection. */
function absentText({ form, gpus, nsys_version, started_at, duration_ns, host }: NsysReport): string {
  const absent = [
    ...(gpus.length === 0 ? ['GPUs'] : []),
    ...(nsys_version === null ? ['version of nsys'] : []),
    ...(started_at === null ? ['start time'] : []),
    ...(duration_ns === null ? ['duration'] : []),
    ...(host === null ? ['host'] : []),
  ];
  const why = form === 'jsonlines' ? '; JSON exports have none of them, `nsys export --type sqlite` has' : '';
  return absent.length === 0 ? '' : `${absent.join(', ')}${why}`;
}

/** A switch is advised only where it was off. */
function missingText({ what, state, option, reasons }: NsysReport['missing'][number]): d.Text {
  const why = reasons.map((reason) => excerpt(reason, 300).replace(/\.$/, '')).join('; ');
  if (option !== null) return d.t`not captured: ${what}: add ${d.code(option)}${why === '' ? '' : ` (${why})`}`;
  if (state === 'on') return `none recorded: ${what}; tracing was on${why === '' ? '' : `; ${why}`}`;
  return `not in report: ${what}; the settings of the capture are unknown${why === '' ? '' : `; ${why}`}`;
}

const processColumn = <Row extends { readonly pid: number | null }>() =>
  d.column<Row>('pid', ({ pid }) => pid, { title: 'process', unit: 'number' });

function failedTable({ failed_calls: calls }: NsysReport, { limit }: NsysLook): d.MaybePart {
  return d.table(
    limited(calls ?? [], limit),
    [
      d.names('api', ({ api }) => api, { title: 'failed call' }),
      d.column('error', ({ error, return_value: value }) => error ?? `error ${value}`),
      d.counts('count', (call) => call.count, { title: 'times' }),
      d.column('first_ns', (call) => call.first_ns, { title: 'first', unit: 'since_ns' }),
      d.column('last_ns', (call) => call.last_ns, { title: 'last', unit: 'since_ns' }),
      processColumn(),
    ],
    { key: 'failed_calls', notes: left(calls ?? [], limit) },
  );
}

function memoryTable({ device_memory: memory }: NsysReport, { limit }: NsysLook): d.MaybePart {
  const all = memory ?? [];
  return d.table(
    limited(all, limit),
    [
      processColumn(),
      ...d.fieldsOf(all, 'device', 'kind', 'peak_bytes'),
      d.column('peak_ns', (row) => row.peak_ns, { title: 'at', unit: 'since_ns' }),
      ...d.fieldsOf(all, 'end_bytes'),
      all.some((row) => row.before_bytes > 0) && d.column('from_before_bytes', (row) => row.before_bytes),
      ...d.fieldsOf(all, 'allocations', 'frees'),
    ],
    { key: 'device_memory', notes: left(all, limit) },
  );
}

function callParts({ memory_calls, storms }: NsysReport, { limit }: NsysLook): d.MaybePart[] {
  const calls = (memory_calls ?? []).filter(({ busy_ns: busy, failed }) => busy > 0 || failed > 0);
  if (calls.length === 0) return [];
  const bursts = storms ?? [];
  const retries = bursts.filter(({ is_retry: isRetry }) => isRetry).length;
  return [
    d.table(
      limited(calls, limit),
      [
        d.names('api', ({ api }) => api, { title: 'calls for memory' }),
        processColumn(),
        ...d.fieldsOf(calls, ['count', 'times']),
        calls.some(({ per_step: average }) => average !== null) &&
          d.counts('per_step', ({ per_step: average }) => average && Math.round(10 * average) / 10, {
            title: 'a step',
          }),
        ...d.fieldsOf(calls, 'failed', ['busy_ns', 'time'], 'longest_ns'),
      ],
      { key: 'memory_calls', notes: left(calls, limit) },
    ),
    bursts.length > 0 &&
      d.paragraph(
        d.t`thrashing: ${d.counted(bursts.length, 'burst', 'bursts', 'bursts')} of frees, ${time(sumOf(bursts.map(({ busy_ns: busy }) => busy)))} in all; ${d.as('retries', d.count(retries))} of them after an allocation that failed (the cache was emptied to try again)`,
      ),
  ];
}

function diagnosticParts({ diagnostics }: NsysReport, { limit }: NsysLook): d.MaybePart[] {
  const all = diagnostics.filter(({ severity, text }) => severity !== 'info' || LOST_EVENTS.test(text));
  const shown = limited(all, Math.min(limit, MOST_DIAGNOSTICS));
  const texts = shown.map(
    ({ severity, text, count: n }) => d.t`${severity}: ${excerpt(text, 300)}${n > 1 ? d.t` (${n} times)` : ''}`,
  );
  const more = all.length - shown.length;
  return [
    d.items(more > 0 ? [...texts, d.t`${d.counted(more, 'more finding')} of the profiler (--json=full)`] : texts, {
      key: 'diagnostics',
    }),
  ];
}
