/** Whose memory was live: components, where they come from, how they are known. */
import { maxOf } from '../../model/lists.js';
import type {
  AccumulationPoint,
  AnnotatedSource,
  AttributedDevice,
  AttributeResult,
  ComponentBytes,
} from '../../model/results/attribute.js';
import { formatBytes, formatCount } from '../../model/units.js';
import type { Component } from '../../model/vocabulary.js';
import { screen } from '../screen.js';
import { fitLabels, keepEnd, left, printable, right, table, tableOf } from '../table.js';
import { afterEntry, paragraph, plain, rankName, UNKNOWN, wrapped } from '../text-pieces.js';

/** Rows below this part of the device are summed up unless all are asked for. */
const LEAST_SHARE = 0.002;

export function attributeText(result: AttributeResult): string {
  const blocks = result.devices.map((device) => deviceText(device, result.moment));
  if (result.devices.length > 1) blocks.unshift(ranksText(result.devices));
  for (const { path, device, reason } of result.left_out) blocks.push(`${printable(path)} device ${device}: ${reason}`);
  if (result.annotated !== undefined) blocks.push(annotatedText(result.annotated));
  return `${blocks.join('\n\n')}\n`;
}

/** One line per device, one column per component that matters. */
function ranksText(devices: readonly AttributedDevice[]): string {
  const totals = devices.map((device) => componentTotals(device.components));
  const sums = new Map<Component, number>();
  for (const total of totals)
    for (const [component, bytes] of total) sums.set(component, (sums.get(component) ?? 0) + bytes);
  const shown = [...sums]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 5)
    .map(([component]) => component);
  const bytesOf = (i: number, component: Component): number => totals[i]!.get(component) ?? 0;
  return tableOf(
    devices,
    [
      right('rank', ({ rank }) => rank ?? UNKNOWN),
      right('stage', ({ stage }) => stage ?? UNKNOWN),
      right('device', ({ device }) => device),
      right('live', (device) => formatBytes(device.total_bytes)),
      ...shown.map((component) => right<AttributedDevice>(component, (_, i) => formatBytes(bytesOf(i, component)))),
      right('other', ({ total_bytes }, i) =>
        formatBytes(total_bytes - sumOf(shown, (component) => bytesOf(i, component))),
      ),
    ],
    '',
  );
}

export function componentTotals(rows: readonly ComponentBytes[]): Map<Component, number> {
  const sums = new Map<Component, number>();
  for (const { component, bytes } of rows) sums.set(component, (sums.get(component) ?? 0) + bytes);
  return sums;
}

function deviceText(device: AttributedDevice, moment: string): string {
  const rank = rankName(device.rank);
  const stage = device.stage === null ? '' : ` · stage ${device.stage}`;
  const after = afterEntry(device.seq);
  const basis = device.basis === 'actual' ? 'actual block sizes' : 'approximate: the trace contradicts itself';
  const lines = [
    `${printable(device.path)} · ${rank}${stage} · device ${device.device}`,
    ...wrapped(
      `  at ${moment}, ${after}: ${formatBytes(device.total_bytes)} live in ${formatCount(device.blocks)} blocks of ${formatBytes(device.reserved_bytes)} reserved (${basis})`,
    ),
    componentTable(device),
    ...paragraph(`  known ${basisWords(device)}${roundingWords(device)}`),
    ...device.accumulation.flatMap((point) => pointLines(point, device.total_bytes)),
  ];
  if (device.groups !== undefined) lines.push('', groupTable(device));
  return lines.join('\n');
}

function componentTable(device: AttributedDevice): string {
  const share = (bytes: number): string =>
    device.total_bytes === 0 ? '–' : `${((100 * bytes) / device.total_bytes).toFixed(1)} %`;
  const lived = (bytes: number | null): string | null =>
    bytes === null ? null : bytes === 0 ? '0' : formatBytes(bytes);
  const rows: (string | null)[][] = [];
  const add = (name: string, parts: readonly ComponentBytes[], tail: string): void => {
    const bytes = sumOf(parts, (part) => part.bytes);
    const resident = parts.every((part) => part.resident_bytes !== null)
      ? sumOf(parts, (part) => part.resident_bytes ?? 0)
      : null;
    rows.push([
      formatBytes(bytes),
      share(bytes),
      formatCount(sumOf(parts, (part) => part.blocks)),
      lived(resident),
      name,
      tail,
    ]);
  };
  const components = [...componentTotals(device.components)].sort((a, b) => b[1] - a[1]);
  for (const [component] of components) {
    const rowsOfComponent = device.components.filter((row) => row.component === component);
    const subs = [...new Set(rowsOfComponent.map((row) => row.sub_component))].map((sub) =>
      rowsOfComponent.filter((row) => row.sub_component === sub),
    );
    const small = subs.filter((parts) => sumOf(parts, (part) => part.bytes) < LEAST_SHARE * device.total_bytes);
    const large = subs.filter((parts) => !small.includes(parts));
    if (subs.length === 1) {
      add(component, rowsOfComponent, `${plain(rowsOfComponent[0]!.sub_component)}${howKnown(rowsOfComponent)}`);
      continue;
    }
    add(component, rowsOfComponent, '');
    for (const parts of large) add(`  ${plain(parts[0]!.sub_component)}`, parts, phasesOf(parts) + howKnown(parts));
    if (small.length > 0) add(`  ${formatCount(small.length)} smaller`, small.flat(), '');
  }
  return table(
    [right('bytes'), right('share'), right('blocks'), right('resident'), left('component'), left('')],
    rows,
    '  ',
  );
}

function phasesOf(parts: readonly ComponentBytes[]): string {
  return [...new Set(parts.map((part) => plain(part.phase)))].filter((phase) => phase !== 'unknown').join(', ');
}

/** Only what is not plainly a rule's. */
function howKnown(parts: readonly ComponentBytes[]): string {
  const inferred = parts.filter(({ by }) => by === 'inference');
  if (inferred.length === 0) return '';
  const by = [
    ...new Set(inferred.map(({ rules }) => plain((rules[0] ?? '').replace(/^inference\./, '')).replaceAll('-', ' '))),
  ];
  return ` (by ${by.join(', ')})`;
}

function basisWords(device: AttributedDevice): string {
  const share = (by: ComponentBytes['by']): string =>
    `${(
      (100 *
        sumOf(
          device.components.filter((row) => row.by === by),
          (row) => row.bytes,
        )) /
        Math.max(1, device.total_bytes)
    ).toFixed(1)} %`;
  return `by a rule ${share('rule')}, by inference ${share('inference')}, not at all ${share('none')}`;
}

/** Worth a word from here on: then components that hold the same tensors differ visibly. */
const LEAST_ROUNDING = 0.005;

function roundingWords({ components, total_bytes }: AttributedDevice): string {
  if (components.some(({ requested_bytes }) => requested_bytes === null)) return '';
  const beyond = total_bytes - sumOf(components, (row) => row.requested_bytes ?? 0);
  return beyond < LEAST_ROUNDING * total_bytes ? '' : `; ${formatBytes(beyond)} more than was requested`;
}

function pointLines(point: AccumulationPoint, total: number): string[] {
  if (point.frame === null) return [];
  const of = point.component === null ? `all ${formatBytes(total)}` : point.component;
  return [
    `  ${(100 * point.share).toFixed(0)} % of ${of} below ${keepEnd(printable(point.frame), 66)}`,
    ...(point.component === null && point.callers[0] !== undefined
      ? [`    \u2190 ${keepEnd(printable(point.callers[0]), 88)}`]
      : []),
  ];
}

/** Of the indent and the gaps between five columns. */
const GAPS = 10;
const LEAST_KEY = 24;

function groupTable(device: AttributedDevice): string {
  const figures = (device.groups ?? []).map((group) => [
    formatBytes(group.bytes),
    formatCount(group.blocks),
    group.resident_bytes === null ? '–' : group.resident_bytes === 0 ? '0' : formatBytes(group.resident_bytes),
    group.component as string,
  ]);
  const keys = (device.groups ?? []).map(({ key }) => key);
  const otherGroups = device.other_groups;
  if (otherGroups !== undefined && otherGroups.groups > 0) {
    figures.push([formatBytes(otherGroups.bytes), formatCount(otherGroups.blocks), '', '']);
    keys.push(`${formatCount(otherGroups.groups)} more (--limit 0 shows all)`);
  }
  const titles = ['bytes', 'blocks', 'resident', 'component'];
  const widths = titles.map((title, i) => Math.max(title.length, maxOf(figures.map((row) => row[i]!.length))));
  const width = Math.max(LEAST_KEY, screen.width - GAPS - widths.reduce((sum, one) => sum + one, 0));
  const shown = fitLabels(keys.map(printable), width);
  return table(
    [...titles.map((title, i) => ({ title, align: i < 3 ? ('right' as const) : ('left' as const) })), left('of')],
    figures.map((row, i) => [...row, shown[i]!]),
    '  ',
  );
}

/** Lines kept around those with bytes. */
const CONTEXT = 2;

function annotatedText({ file, matched, lines, beyond_bytes, device }: AnnotatedSource): string {
  const head = `${printable(file)} on device ${device}`;
  if (matched.length === 0) return `${head}: no frame of the recording is of a file of this name`;
  const shown = new Set<number>();
  lines.forEach(({ bytes }, i) => {
    if (bytes > 0) for (let near = i - CONTEXT; near <= i + CONTEXT; near += 1) shown.add(near);
  });
  const out = [
    `${head}, as ${matched.map((path) => printable(path)).join(', ')}`,
    `${'self'.padStart(11)} ${'through'.padStart(11)}`,
  ];
  let last = -1;
  lines.forEach(({ line, text, bytes, self_bytes }, i) => {
    if (!shown.has(i)) return;
    if (last >= 0 && i > last + 1) out.push('          …');
    last = i;
    const cell = (value: number): string => (value === 0 ? '' : formatBytes(value)).padStart(11);
    const source = printable(text.replaceAll('\t', '    '));
    out.push(cut(`${cell(self_bytes)} ${cell(bytes)} ${String(line).padStart(5)}  ${source}`.trimEnd()));
  });
  if (beyond_bytes > 0)
    out.push(`${formatBytes(beyond_bytes)} belong to lines this file does not have: it is another version`);
  return out.join('\n');
}

/** Keeps the beginning of a line of code. */
function cut(line: string): string {
  return line.length <= screen.width ? line : `${line.slice(0, screen.width - 1)}…`;
}

function sumOf<T>(rows: readonly T[], pick: (row: T) => number): number {
  return rows.reduce((sum, row) => sum + pick(row), 0);
}
