/** Which settings and capacities serve what a trace requested, and what else would. */

import { groupBy } from '../../model/group-by.js';
import { maxOf, minOf, sumOf } from '../../model/lists.js';
import type * as results from '../../model/results/replay.js';
import * as d from '../document/document.js';
import { wordOf, wordsOf, wordTable } from '../words/fill.js';
import { factsOf, textMaker } from '../words/fill-pieces.js';
import { type AskedRow, answerText, askedRows, isStepShort } from './what-if-answer.js';

const textOf = textMaker('what-if', 'screen');

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
        d.facts(factsOf('what-if', 'facts', result, { oom: recorded.oom ?? {}, replay_reason: replay.reason || null })),
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
      step !== null && d.note(textOf('step', step)),
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

function noteParts({ settings, targets, recorded, calibration_bytes: error, repeats_oom, lost }: results.WhatIfResult) {
  const isOpen = settings.some(({ bound }) => bound === 'optimistic' || bound === 'pessimistic');
  const isUnsure = settings.some((row) => row.bound === 'interval' || !row.robust);
  const ofNote = groupBy(
    settings.filter((row) => row.note !== null),
    (row) => row.note!,
  );
  const totals = targets.map(({ label, total_bytes: total }) => d.t`${label} ${d.bytes(total)}`);
  const calibration = isOpen && error;
  return [
    ...(targets.length === 0 ? [] : [textOf('capacity', recorded, { totals: d.joined(totals, ', ') })]),
    ...[...ofNote].map(([text, rows]) => `${text}: ${[...new Set(rows.map(({ setting }) => setting))].join(' · ')}`),
    ...(calibration === null || calibration === false ? [] : [textOf('bounds', { calibration })]),
    ...(isUnsure ? lost : []).map((one) => wordsOf(wordTable('what-if', 'lost'), one)),
    ...(repeats_oom === false ? [textOf('not_repeated')] : []),
  ].map((text) => d.note(text));
}

const leastBound = wordOf('codes', 'least_bounds');

const editSection = ({ edits, before, after }: NonNullable<results.WhatIfResult['edit']>): d.MaybePart =>
  d.section(
    d.joined(
      edits.map((one) => textOf('edit', one)),
      ', ',
    ),
    { key: 'edit' },
    ...edits.map((one) => d.paragraph(textOf('edited', one))),
    peakSection('before', before),
    peakSection('after', after),
  );

const peakSection = (key: string, peak: results.WhatIfPeak): d.MaybePart =>
  d.section(
    textOf('peak', peak, { key, ends: outcomeName(peak.outcome) }),
    { key, fields: { seq: peak.seq, outcome: peak.outcome } },
    d.table(
      peak.sites,
      [
        ...d.fieldsOf(peak.sites, ['bytes', 'live'], ['count', 'blocks']),
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
