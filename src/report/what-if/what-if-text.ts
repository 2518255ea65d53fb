/** `whatif` as text. */
import { maxOf, minOf, pushAll } from '../../model/lists.js';
import type {
  EarlyFree,
  LostFact,
  WhatIfOutcomeName,
  WhatIfPeak,
  WhatIfResult,
  WhatIfRow,
} from '../../model/results/replay.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { keepEnd, left, printable, right, table } from '../table.js';
import { bytesOr, counted, hanging, paragraph, rankName, UNKNOWN, wrapped } from '../text-pieces.js';
import { type AskedRow, answerText, askedRows, isStepShort } from './what-if-answer.js';

const INDENT = ' '.repeat(13);

export function whatIfText(result: WhatIfResult): string {
  const { recorded, replay } = result;
  const rank = rankName(result.rank);
  const setting = recorded.setting === '' ? 'default settings' : recorded.setting;
  const answer = answerText(result);
  const lines = [
    ...(answer === '' ? [] : [...paragraph(answer), '']),
    ...paragraph(
      `${keepEnd(printable(result.path), 60)} · ${rank} · device ${result.device} · recorded with ${printable(setting)}`,
    ),
    ...hanging(
      `  replay     ${replay.status}: ${formatCount(replay.address_matches)} of ${formatCount(replay.address_total)} addresses${replay.reason === '' ? '' : `; ${printable(replay.reason)}`}`,
    ),
    ...hanging(`  recorded   ${recordedWords(result)}`),
    ...hanging(
      `  at best    ${formatBytes(result.optimum_bytes)}: the most that is live${recorded.oom === null ? '' : ' + requested'} at once, whatever the allocator does`,
    ),
    '',
    settingTable(result),
  ];
  pushAll(lines, targetLines(result));
  const notes = new Map<string, Set<string>>();
  for (const { note, setting } of result.settings)
    if (note !== null) notes.set(note, (notes.get(note) ?? new Set()).add(setting));
  for (const [note, settings] of notes) pushAll(lines, paragraph(`  ${note}: ${[...settings].join(' · ')}`));
  if (
    result.calibration_bytes !== null &&
    result.settings.some((row) => row.bound === 'optimistic' || row.bound === 'pessimistic')
  ) {
    pushAll(
      lines,
      paragraph(
        `  the recording begins with live memory: optimistic packs it afresh (error with the recorded settings ${signed(result.calibration_bytes)}), pessimistic leaves it where it was; both: the two have the same outcome, and the figures are the worse ones`,
      ),
    );
  }
  const isUnsure = result.settings.some((row) => row.bound === 'interval' || !row.robust);
  for (const fact of isUnsure ? result.lost : []) pushAll(lines, paragraph(`  ${LOST[fact]}`));
  if (result.repeats_oom === false) {
    const why =
      'with the recorded settings the model fails elsewhere than torch did: the memory left to the allocator was not constant over the trace, and no row can be trusted to the byte';
    pushAll(lines, paragraph(`  ${why}`));
  }
  if (result.least_capacity.length > 0) pushAll(lines, ['', ...leastLines(result)]);
  if (result.edit !== null) pushAll(lines, ['', ...editLines(result.edit)]);
  if (result.free_early !== null) pushAll(lines, ['', ...earlyLines(result.free_early)]);
  const step = result.whole_step;
  const like =
    step === null
      ? []
      : wrapped(
          `A step like the last whole one peaks at ${formatBytes(step.peak_bytes)} live${step.outcome === 'unlike' ? ', but this step requests other memory' : ''}.`,
        );
  pushAll(lines, ['', ...wrapped(result.caveat, ''), ...like]);
  return `${lines.join('\n')}\n`;
}

function signed(bytes: number): string {
  return bytes < 0 ? `−${formatBytes(-bytes)}` : `+${formatBytes(bytes)}`;
}

function recordedWords({ recorded }: WhatIfResult): string {
  const parts = [
    `peak reserved ${formatBytes(recorded.peak_reserved_bytes)}, peak live ${formatBytes(recorded.peak_active_bytes)}`,
  ];
  if (recorded.oom !== null) {
    const site = recorded.oom.site === null ? '' : ` in ${printable(recorded.oom.site)}`;
    parts.push(
      `OOM at entry ${formatCount(recorded.oom.seq)}, ${formatBytes(recorded.oom.requested_bytes)} requested${site}`,
    );
  }
  if (recorded.capacity_bytes !== null)
    parts.push(`capacity ${formatBytes(recorded.capacity_bytes)} = ${printable(recorded.capacity_source ?? '')}`);
  if (recorded.taken_by_others_bytes > 0)
    parts.push(
      `${formatBytes(recorded.taken_by_others_bytes)} less than was reserved before: others took it meanwhile`,
    );
  if (recorded.outside_bytes !== null && recorded.device_total_bytes !== null)
    parts.push(
      `${formatBytes(recorded.outside_bytes)} of the device's ${formatBytes(recorded.device_total_bytes)} are outside it`,
    );
  return parts.join('; ');
}

const OUTCOMES: Readonly<Record<WhatIfOutcomeName, string>> = {
  fits: 'fits',
  same_oom: 'same OOM',
  earlier_oom: 'earlier OOM',
  later_oom: 'later OOM',
};

const LOST: Readonly<Record<LostFact, string>> = {
  pending_frees:
    'frees waited for other streams: when they complete on another device, or with other flushes, is in no file',
  flushes: 'the program empties its cache: where that gave nothing back, the trace has no entry of it',
  unclear_flushes: 'whether a flush was called or forced is not known: no entry shows what the device had free',
  divisions: 'the file has no settings, and not every size shows its roundup_power2_divisions',
  cases: 'the recording is too long to replay every case that it leaves open',
  private_pools: "from when on a graph's private pool could be freed is in no file",
};

/** `8.42 GiB`; `8.42 to 8.61 GiB` where the file leaves it open, `≤8.61 GiB` with two bounds. */
function peakWords({ rows, first }: AskedRow): string {
  if (rows.length > 1) return `≤${formatBytes(maxOf(rows.map((row) => row.peak_reserved_most_bytes)))}`;
  if (first.bound !== 'interval') return formatBytes(first.peak_reserved_bytes);
  const [least, most] = [first.peak_reserved_least_bytes, first.peak_reserved_most_bytes].map(formatBytes);
  if (least === most) return least!;
  const [value, unit] = least!.split(' ');
  return `${most!.endsWith(` ${unit}`) ? value : least} to ${most}`;
}

/** Totals of the named devices, and what of them the allocator cannot have. */
function targetLines({ targets, recorded }: WhatIfResult): string[] {
  if (targets.length === 0) return [];
  const outside =
    recorded.outside_bytes === null
      ? 'nothing subtracted: the memory outside the allocator is not known'
      : `less ${formatBytes(recorded.outside_bytes)} outside the allocator, as recorded`;
  const totals = targets.map(({ label, total_bytes }) => `${label} ${formatBytes(total_bytes)}`);
  return paragraph(
    `  capacity of a named device: the total that its driver reports (${totals.join(', ')}), ${outside}`,
  );
}

/**
 * The widest setting that fits next to the deciding figures in a line: one option fits, a list of them takes a
 * line each.
 */
const SETTING_WIDTH = 32;

/** Bytes missing are a negative headroom. The costs, waste and calls, give way where the settings are long. */
function settingTable({ settings, targets, whole_step: step }: WhatIfResult): string {
  const labels = new Map(targets.map(({ name, label }) => [name, label]));
  const nameOf = ({ setting, target }: WhatIfRow): string => {
    if (target === null) return setting;
    return `${labels.get(target) ?? target}${setting === 'recorded' ? '' : `, ${setting}`}`;
  };
  const asked = askedRows(settings).flatMap((question) => {
    const isShort = question.rows.map((row) => isStepShort(row, step));
    const agree = question.rows.every((row, i) => row.outcome === question.first.outcome && isShort[i] === isShort[0]);
    return agree ? [question] : question.rows.map((row) => ({ rows: [row], first: row }));
  });
  const isLimited = settings.some((row) => row.capacity_bytes !== null);
  const isOpen = asked.some(({ rows }) => rows.length > 1);
  const isWide = isOpen || settings.some((row) => nameOf(row).length > 26 || !row.robust);
  const showsCosts = !(isWide && isLimited);
  const columns = [
    left('setting'),
    ...(isLimited ? [right('capacity')] : []),
    left('outcome'),
    right('reserved'),
    ...(isLimited ? [right('headroom')] : []),
    ...(showsCosts ? [right('waste'), right('calls')] : []),
    left('bound'),
  ];
  const cells = asked.flatMap((question) => {
    const { rows, first } = question;
    const [name = '', ...more] = settingLines(nameOf(first));
    const mark = isOpen && rows.length > 1 ? '≤' : '';
    const all = [
      name,
      ...(isLimited ? [bytesOr(first.capacity_bytes)] : []),
      isStepShort(first, step) ? 'fits so far' : OUTCOMES[first.outcome],
      peakWords(question),
      ...(isLimited ? [headroomOf(question)] : []),
      ...(showsCosts
        ? [
            `${mark}${formatBytes(maxOf(rows.map((row) => row.unused_at_peak_bytes)))}`,
            `${mark}${formatCount(maxOf(rows.map((row) => row.driver_calls)))}`,
          ]
        : []),
      `${rows.length > 1 ? 'both' : first.bound}${first.robust ? '' : ' *'}`,
    ];
    return [all, ...more.map((line) => columns.map((_, i) => (i === 0 ? line : '')))];
  });
  const lines = [table(columns, cells, '  ')];
  if (settings.some((row) => isStepShort(row, step)))
    pushAll(
      lines,
      paragraph(`  fits so far: until this OOM; the rest of the step peaks at ${formatBytes(step!.peak_bytes)}`),
    );
  if (settings.some((row) => !row.robust))
    pushAll(
      lines,
      paragraph(
        '  * another outcome is possible within the bounds, with new addresses in the other order, or by what the file has lost',
      ),
    );
  return lines.join('\n');
}

/** `a:1,b:2` as `a:1,` and ` b:2`; lists in brackets stay together, shortened if they must be. */
function settingLines(setting: string): string[] {
  if (setting.length <= SETTING_WIDTH) return [setting];
  const parts = setting.split(/,(?![^[\]]{0,400}\])/);
  return parts.map((part, i) => {
    const text = `${i === 0 ? '' : ' '}${part}${i === parts.length - 1 ? '' : ','}`;
    return text.length <= SETTING_WIDTH ? text : `${text.slice(0, SETTING_WIDTH - 1)}…`;
  });
}

/** Of two bounds, the worse. */
function headroomOf({ rows, first }: AskedRow): string {
  const isOpen = rows.length > 1;
  if (first.outcome === 'fits') {
    const known = rows.flatMap((row) => row.headroom_bytes ?? []);
    const mark = isOpen || first.bound === 'interval' ? '≥' : '';
    return known.length === 0 ? UNKNOWN : `${mark}${formatBytes(minOf(known))}`;
  }
  const short = rows.flatMap((row) => row.short_bytes ?? []);
  return short.length === 0 ? UNKNOWN : `−${formatBytes(maxOf(short))}`;
}

const LEAST_BOUNDS = {
  exact: '',
  likeliest: ', in the likeliest case',
  optimistic: ', the start packed afresh',
} as const;

function leastLines({ least_capacity, recorded }: WhatIfResult): string[] {
  return least_capacity.flatMap((row) => {
    const more = recorded.capacity_bytes === null ? '' : ` (${signed(row.capacity_bytes - recorded.capacity_bytes)})`;
    const bound = LEAST_BOUNDS[row.bound];
    return paragraph(
      `  least capacity that serves every request, ${row.setting}: ${formatBytes(row.capacity_bytes)}${more}${bound}`,
    );
  });
}

function* editLines(edit: NonNullable<WhatIfResult['edit']>): Generator<string> {
  for (const siteEdit of edit.edits) {
    const what = siteEdit.scale === 0 ? 'without' : `${siteEdit.scale} ×`;
    yield* paragraph(
      `  ${what} ${printable(siteEdit.site)}: ${formatCount(siteEdit.allocations)} allocations, ${formatBytes(siteEdit.bytes)} in all over the trace`,
    );
  }
  yield* peakLines('before', edit.before);
  yield* peakLines('after', edit.after);
}

function peakLines(label: string, peak: WhatIfPeak): string[] {
  const where = peak.seq < 0 ? 'before the first entry' : `after entry ${formatCount(peak.seq)}`;
  return [
    ...wrapped(
      `  ${label.padEnd(11)}${OUTCOMES[peak.outcome]}; peak live ${formatBytes(peak.active_bytes)} ${where}, peak reserved ${formatBytes(peak.reserved_bytes)}`,
      INDENT,
    ),
    ...peak.sites.flatMap((site) =>
      wrapped(
        `${INDENT}${formatBytes(site.bytes).padStart(11)}  ${formatCount(site.count)} × ${printable(site.site)}`,
        INDENT,
      ),
    ),
  ];
}

function earlyLines(frees: readonly EarlyFree[]): string[] {
  if (frees.length === 0)
    return ['  no segment of the pool is as large as the request: no earlier free opens a hole for it'];
  const lines = ['  what would have had to be free for the request to find a hole, least bytes first'];
  for (const free of frees) {
    const result = free.verified ? 'serves the request' : 'does not serve it';
    const what = `${formatBytes(free.bytes)} in ${counted(free.blocks.length, 'block')}`;
    pushAll(lines, paragraph(`  ${what} → ${formatBytes(free.opens_bytes)} in one piece; replayed: ${result}`));
    const bySite = new Map<string, { bytes: number; count: number }>();
    for (const block of free.blocks) {
      const known = bySite.get(block.site) ?? { bytes: 0, count: 0 };
      bySite.set(block.site, { bytes: known.bytes + block.bytes, count: known.count + 1 });
    }
    const top = [...bySite].sort((a, b) => b[1].bytes - a[1].bytes).slice(0, 3);
    for (const [site, sum] of top)
      pushAll(lines, paragraph(`    ${formatBytes(sum.bytes)} in ${formatCount(sum.count)} × ${printable(site)}`));
  }
  return lines;
}
