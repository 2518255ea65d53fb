/** Which settings and capacities serve what a trace requested, and what else would. */
import { groupBy } from '../../model/group-by.js';
import { maxOf, minOf, sumOf } from '../../model/lists.js';
import type * as results from '../../model/results/replay.js';
import * as d from '../document/document.js';
import { wordOf } from '../words/fill.js';
import { type AskedRow, answerText, askedRows, isStepShort } from './what-if-answer.js';

export function whatIfDocument(result: results.WhatIfResult): d.Document {
  const { schema, path, rank, device, recorded, replay, whole_step: step, edit, free_early: early } = result;
  const answer = answerText(result);
  return {
    ...d.document(
      schema,
      '',
      answer !== '' && d.paragraph(answer, { key: 'answer', style: 'lead' }),
      d.section(
        d.joined(
          [
            d.as('path', d.code(path)),
            rank !== null && d.t`rank ${d.as('rank', d.count(rank))}`,
            d.t`device ${d.as('device', d.count(device))}`,
            recorded.setting === '' ? 'recorded with default settings' : d.t`recorded with ${d.code(recorded.setting)}`,
          ],
          ' · ',
        ),
        {},
        d.facts([
          d.fact(
            'replay',
            d.t`${replay.status}: ${replay.address_matches} of ${replay.address_total} addresses${replay.reason === '' ? '' : `; ${replay.reason}`}`,
          ),
          d.fact('recorded', recordedText(recorded)),
          d.fact(
            'at_best',
            d.t`${d.bytes(result.optimum_bytes)}: the most that is live${recorded.oom === null ? '' : ' + requested'} at once, whatever the allocator does`,
          ),
        ]),
      ),
      settingTable(result),
      ...noteParts(result),
      d.table(
        result.least_capacity,
        [
          d.column('setting', ({ setting }) => setting, { title: 'to serve every request' }),
          d.column('capacity_bytes', (row) => row.capacity_bytes, { title: 'needs at least' }),
          recorded.capacity_bytes !== null &&
            d.column('delta_bytes', (row) => row.capacity_bytes - recorded.capacity_bytes!, { title: 'change' }),
          d.column('bound', ({ bound }) => leastBound(bound), { title: '' }),
        ],
        { key: 'least_capacity' },
      ),
      edit !== null && editSection(edit),
      early !== null && earlySection(early),
      step !== null &&
        d.note(
          d.t`a step like the last whole one peaks at ${d.bytes(step.peak_bytes)} live${step.outcome === 'unlike' ? ', but this step requests other memory' : ''}`,
        ),
      d.note(result.caveat, { key: 'caveat' }),
    ),
    fields: {
      snapshot: result.snapshot,
      optimum_bytes: result.optimum_bytes,
      recorded_capacity_bytes: recorded.capacity_bytes,
      repeats_oom: result.repeats_oom,
    },
  };
}

function recordedText(recorded: results.WhatIfResult['recorded']): d.Text {
  const { oom, capacity_bytes: capacity, taken_by_others_bytes: taken, outside_bytes: outside } = recorded;
  const total = recorded.device_total_bytes;
  return d.joined(
    [
      d.t`peak reserved ${d.bytes(recorded.peak_reserved_bytes)}, peak live ${d.bytes(recorded.peak_active_bytes)}`,
      oom !== null &&
        d.t`OOM at entry ${oom.seq}, ${d.bytes(oom.requested_bytes)} requested${oom.site === null ? '' : d.t` in ${d.code(oom.site)}`}`,
      capacity !== null && d.t`capacity ${d.bytes(capacity)} = ${recorded.capacity_source ?? ''}`,
      taken > 0 && d.t`${d.bytes(taken)} less than was reserved before: others took it meanwhile`,
      outside !== null && total !== null && d.t`${d.bytes(outside)} of the device's ${d.bytes(total)} are outside it`,
    ],
    '; ',
  );
}

const outcomeName = wordOf('codes', 'what_if_outcomes');

/** Next to longer names only shorter rows fit, without what a setting costs: waste and driver calls. */
const LONGEST_WITH_COSTS = 26;

/** One row for each question: for both bounds where the outcome is the same. Missing bytes are a negative headroom. */
function settingTable({ settings, targets, whole_step: step }: results.WhatIfResult): d.MaybePart {
  const labels = new Map(targets.map(({ name, label }) => [name, label]));
  const nameOf = ({ setting, target }: results.WhatIfRow): string => {
    if (target === null) return setting;
    return `${labels.get(target) ?? target}${setting === 'recorded' ? '' : `, ${setting}`}`;
  };
  const asked = askedRows(settings).flatMap((question) => {
    const isShort = question.rows.map((row) => isStepShort(row, step));
    const agree = question.rows.every((row, i) => row.outcome === question.first.outcome && isShort[i] === isShort[0]);
    return agree ? [question] : question.rows.map((row) => ({ rows: [row], first: row }));
  });
  const isLimited = settings.some((row) => row.capacity_bytes !== null);
  const showsCosts = !isLimited || settings.every((row) => row.robust && nameOf(row).length <= LONGEST_WITH_COSTS);
  const most = (
    { rows }: AskedRow,
    of: (row: results.WhatIfRow) => number,
    figure: (value: number) => d.Text,
  ): d.Cell => d.t`${rows.length > 1 ? '≤' : ''}${figure(maxOf(rows.map(of)))}`;
  return d.table(
    asked,
    [
      d.names('setting', ({ first }) => nameOf(first)),
      isLimited && d.column('capacity_bytes', ({ first }) => first.capacity_bytes),
      d.column('outcome', ({ first }) => (isStepShort(first, step) ? 'fits so far' : outcomeName(first.outcome))),
      d.column('reserved_bytes', peakText),
      isLimited && d.column('headroom_bytes', headroom),
      showsCosts && d.column('waste_bytes', (question) => most(question, (row) => row.unused_at_peak_bytes, d.bytes)),
      showsCosts && d.counts('calls', (question) => most(question, (row) => row.driver_calls, d.count)),
      d.column('bound', ({ rows, first }) => `${rows.length > 1 ? 'both' : first.bound}${first.robust ? '' : ' *'}`),
    ],
    {
      key: 'settings',
      notes: [
        settings.some((row) => isStepShort(row, step)) &&
          d.t`fits so far: until this OOM; the rest of the step peaks at ${d.bytes(step!.peak_bytes)}`,
        settings.some((row) => !row.robust) &&
          '* another outcome is possible within the bounds, with new addresses in the other order, or by what the file has lost',
      ],
    },
  );
}

/** `8.42 GiB`; `8.42 GiB to 8.61 GiB` where the file leaves it open, `≤8.61 GiB` with two bounds. */
function peakText({ rows, first }: AskedRow): d.Cell {
  if (rows.length > 1) return d.t`≤${d.bytes(maxOf(rows.map((row) => row.peak_reserved_most_bytes)))}`;
  const { peak_reserved_least_bytes: least, peak_reserved_most_bytes: most } = first;
  if (first.bound !== 'interval') return first.peak_reserved_bytes;
  return least === most ? least : d.t`${d.bytes(least)} to ${d.bytes(most)}`;
}

/** Of two bounds, the worse. */
function headroom({ rows, first }: AskedRow): d.Cell {
  if (first.outcome === 'fits') {
    const known = rows.flatMap((row) => row.headroom_bytes ?? []);
    const isOpen = rows.length > 1 || first.bound === 'interval';
    return known.length === 0 ? null : d.t`${isOpen ? '≥' : ''}${d.bytes(minOf(known))}`;
  }
  const short = rows.flatMap((row) => row.short_bytes ?? []);
  return short.length === 0 ? null : -maxOf(short);
}

const LOST: Readonly<Record<results.LostFact, string>> = {
  pending_frees:
    'frees waited for other streams: when they complete on another device, or with other flushes, is in no file',
  flushes: 'the program empties its cache: where that gave nothing back, the trace has no entry of it',
  unclear_flushes: 'whether a flush was called or forced is not known: no entry shows what the device had free',
  divisions: 'the file has no settings, and not every size shows its roundup_power2_divisions',
  cases: 'the recording is too long to replay every case that it leaves open',
  private_pools: "from when on a graph's private pool could be freed is in no file",
};

/** What limits the rows above. */
function noteParts({
  settings,
  targets,
  recorded,
  calibration_bytes: error,
  repeats_oom: repeats,
  lost,
}: results.WhatIfResult): d.MaybePart[] {
  const isOpen = settings.some(({ bound }) => bound === 'optimistic' || bound === 'pessimistic');
  const isUnsure = settings.some((row) => row.bound === 'interval' || !row.robust);
  const ofNote = groupBy(
    settings.filter((row) => row.note !== null),
    (row) => row.note!,
  );
  const totals = targets.map(({ label, total_bytes: total }) => d.t`${label} ${d.bytes(total)}`);
  return [
    targets.length > 0 &&
      d.note(
        d.t`capacity of a named device: the total that its driver reports (${d.joined(totals, ', ')}), ${recorded.outside_bytes === null ? 'nothing subtracted: the memory outside the allocator is not known' : d.t`less ${d.bytes(recorded.outside_bytes)} outside the allocator, as recorded`}`,
      ),
    ...[...ofNote].map(([text, rows]) =>
      d.note(`${text}: ${[...new Set(rows.map(({ setting }) => setting))].join(' · ')}`),
    ),
    error !== null &&
      isOpen &&
      d.note(
        d.t`the recording begins with live memory: optimistic packs it afresh (error with the recorded settings ${d.changeBytes(error)}), pessimistic leaves it where it was; both: the two have the same outcome, and the figures are the worse ones`,
      ),
    ...(isUnsure ? lost : []).map((one) => d.note(LOST[one])),
    repeats === false &&
      d.note(
        'with the recorded settings the model fails elsewhere than torch did: the memory left to the allocator was not constant over the trace, and no row can be trusted to the byte',
      ),
  ];
}

const leastBound = wordOf('codes', 'least_bounds');

const editSection = ({ edits, before, after }: NonNullable<results.WhatIfResult['edit']>): d.MaybePart =>
  d.section(
    d.joined(
      edits.map(({ site, scale }) => d.t`${scale === 0 ? 'without' : `${scale} ×`} ${d.code(site)}`),
      ', ',
    ),
    { key: 'edit' },
    ...edits.map(({ allocations, bytes: size }) =>
      d.paragraph(d.t`${d.counted(allocations, 'allocation')}, ${d.bytes(size)} in all over the trace`),
    ),
    peakSection('before', before),
    peakSection('after', after),
  );

const peakSection = (
  key: string,
  { seq, outcome, active_bytes: active, reserved_bytes: reserved, sites }: results.WhatIfPeak,
): d.MaybePart =>
  d.section(
    d.t`${key}: ${outcomeName(outcome)}; peak live ${d.as('active_bytes', d.bytes(active))} ${seq < 0 ? 'before the first entry' : d.t`after entry ${seq}`}, peak reserved ${d.as('reserved_bytes', d.bytes(reserved))}`,
    { key, fields: { seq, outcome } },
    d.table(
      sites,
      [
        d.column('bytes', (one) => one.bytes, { title: 'live' }),
        d.counts('count', (one) => one.count, { title: 'blocks' }),
        d.names('site', (one) => one.site, { title: 'call site' }),
      ],
      { key: 'sites' },
    ),
  );

/** Sites of the blocks of one early free. */
const MOST_SITES = 3;

const earlySection = (frees: readonly results.EarlyFree[]): d.MaybePart =>
  d.section(
    'What would have had to be free for the request to find a hole, least bytes first',
    {},
    d.table(
      frees,
      [
        d.column('bytes', (free) => free.bytes, { title: 'to free' }),
        d.counts('blocks', (free) => free.blocks.length),
        d.column('opens_bytes', (free) => free.opens_bytes, { title: 'one piece of' }),
        d.column('verified', ({ verified }) => (verified ? 'serves the request' : 'does not serve it'), {
          title: 'replayed',
        }),
      ],
      {
        key: 'free_early',
        under: ({ blocks }) =>
          [...groupBy(blocks, ({ site }) => site)]
            .map(([site, ofSite]) => ({ site, count: ofSite.length, size: sumOf(ofSite.map((block) => block.bytes)) }))
            .sort((a, b) => b.size - a.size)
            .slice(0, MOST_SITES)
            .map((one) => d.t`${d.bytes(one.size)} in ${one.count} × ${d.code(one.site)}`),
      },
    ) ?? d.paragraph('no segment of the pool is as large as the request: no earlier free opens a hole for it'),
  );
