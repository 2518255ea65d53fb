/** Whose memory was live: components, where they come from, how they are known. */

import { groupBy } from '../../model/group-by.js';
import { sumOf } from '../../model/lists.js';
import type * as results from '../../model/results/attribute.js';
import { formatBytes } from '../../model/units.js';
import type { Component } from '../../model/vocabulary.js';
import * as d from '../document/document.js';
import { afterEntry, plain } from '../text-pieces.js';
import { textMaker } from '../words/fill-pieces.js';
import { deviceTitle } from './device-title.js';

/** On a terminal. */
const LEAST_SHARE = 0.002;
/** Components with a column in the table of devices. */
const MOST_COMPONENTS = 5;

export function attributeDocument({
  schema,
  moment,
  devices,
  left_out: leftOut,
  annotated,
}: results.AttributeResult): d.Document {
  return d.document(
    schema,
    '',
    devices.length > 1 && d.section('Live memory by device', {}, deviceTable(devices)),
    ...devices.map((device) => deviceSection(device, moment)),
    ...leftOut.map(({ path, device, reason }) => d.note(d.t`${d.code(path)} device ${device}: ${reason}`)),
    annotated !== undefined && annotatedSection(annotated),
  );
}

const textOf = textMaker('moment', 'attribute');

const bytesOf = (rows: readonly results.ComponentBytes[]): number => sumOf(rows.map((row) => row.bytes));

export function componentTotals(rows: readonly results.ComponentBytes[]): Map<Component, number> {
  return new Map([...groupBy(rows, ({ component }) => component)].map(([component, of]) => [component, bytesOf(of)]));
}

/** A row a device, a column a component that matters. */
function deviceTable(devices: readonly results.AttributedDevice[]): d.MaybePart {
  const totals = new Map(devices.map((device) => [device, componentTotals(device.components)]));
  const shown = [...componentTotals(devices.flatMap(({ components }) => components))]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST_COMPONENTS)
    .map(([component]) => component);
  const of = (device: results.AttributedDevice, component: Component): number =>
    totals.get(device)!.get(component) ?? 0;
  return d.table(
    devices,
    [
      ...d.fieldsOf(devices, 'rank', 'stage', 'device', ['total_bytes', 'live']),
      ...shown.map((component) =>
        d.column<results.AttributedDevice>(`${component}_bytes`, (device) => of(device, component), {
          title: plain(component),
        }),
      ),
      d.column('other_bytes', (device) => device.total_bytes - sumOf(shown.map((component) => of(device, component)))),
    ],
    { key: 'live' },
  );
}

function deviceSection(device: results.AttributedDevice, moment: string): d.MaybePart {
  const { handle, rank, stage, seq, basis } = device;
  return d.section(
    d.t`${deviceTitle(device)}${stage === null ? '' : d.t` · stage ${stage}`}`,
    { key: 'devices', isOneOf: true, fields: { handle, rank, stage, device: device.device, moment, seq, basis } },
    ...attributionParts(device, moment),
  );
}

/** `leastShare`: of the device; smaller parts are summed up. */
export function attributionParts(
  device: results.AttributedDevice,
  moment: string,
  leastShare = LEAST_SHARE,
): d.MaybePart[] {
  const { seq, total_bytes: total, components, accumulation } = device;
  const shareBy = (by: results.ComponentBytes['by']): number =>
    bytesOf(components.filter((row) => row.by === by)) / Math.max(1, total);
  const hasRequested = components.every(({ requested_bytes: requested }) => requested !== null);
  const beyond = total - sumOf(components.map((row) => row.requested_bytes ?? 0));
  return [
    d.paragraph(textOf('live', device, { moment, after: afterEntry(seq) })),
    componentTable(device, leastShare),
    d.paragraph(
      textOf('known', {
        ...{ rule_share: shareBy('rule'), inference_share: shareBy('inference'), none_share: shareBy('none') },
        beyond_bytes: hasRequested && beyond >= LEAST_ROUNDING * total && beyond,
      }),
    ),
    d.items(
      accumulation.flatMap((point) =>
        point.frame === null ? [] : [textOf('below', point, { total_bytes: total, caller: point.callers[0] })],
      ),
      { key: 'accumulation' },
    ),
    groupTable(device),
  ];
}

// ---- components

interface ComponentRow {
  readonly component: Component;
  /** Null: the whole component, of several. */
  readonly part: string | null;
  readonly rows: readonly results.ComponentBytes[];
  readonly kind?: 'group' | 'others';
}

function componentTable({ components, total_bytes: total }: results.AttributedDevice, leastShare: number): d.MaybePart {
  const groups = [...groupBy(components, ({ component }) => component)].sort((a, b) => bytesOf(b[1]) - bytesOf(a[1]));
  const rows = groups.flatMap(([component, of]): ComponentRow[] => {
    const subs = [...groupBy(of, (row) => row.sub_component).values()];
    const rowOf = (sub: readonly results.ComponentBytes[]): ComponentRow => ({
      component,
      part: plain(sub[0]!.sub_component),
      rows: sub,
    });
    if (subs.length === 1) return [rowOf(of)];
    const small = subs.filter((sub) => bytesOf(sub) < leastShare * total);
    const smaller = { component, part: `${small.length} smaller`, rows: small.flat(), kind: 'others' } as const;
    return [
      { component, part: null, rows: of, kind: 'group' },
      ...subs.filter((sub) => !small.includes(sub)).map(rowOf),
      ...(small.length === 0 ? [] : [smaller]),
    ];
  });
  const isInferred = rows.some(({ rows: of }) => inferenceOf(of) !== '');
  return d.table(
    rows,
    [
      d.column('bytes', (row) => bytesOf(row.rows), { title: 'live' }),
      d.column('share', (row) => (total === 0 ? null : bytesOf(row.rows) / total)),
      d.counts('blocks', (row) => sumOf(row.rows.map(({ blocks }) => blocks))),
      d.column('resident_bytes', ({ rows: of }) =>
        of.some((row) => row.resident_bytes === null) ? null : sumOf(of.map((row) => row.resident_bytes ?? 0)),
      ),
      d.names('component', ({ component }) => component),
      d.column('part', ({ part }) => part ?? 'all'),
      isInferred && d.column('inferred_by', ({ rows: of, kind }) => (kind === undefined ? inferenceOf(of) : '')),
    ],
    { key: 'components', kind: ({ kind }) => kind },
  );
}

/** Of what no rule labelled. */
const inferenceOf = (rows: readonly results.ComponentBytes[]): string => {
  const inferred = rows.filter(({ by }) => by === 'inference');
  const names = inferred.map(({ rules: [rule = ''] }) => plain(rule.replace(/^inference\./, '')).replaceAll('-', ' '));
  return [...new Set(names)].join(', ');
};

/** Shown from here on: then components that hold the same tensors differ visibly. */
const LEAST_ROUNDING = 0.005;

function groupTable({ groups, other_groups: others }: results.AttributedDevice): d.MaybePart {
  if (groups === undefined) return null;
  const more = others !== undefined && others.groups > 0 ? others : null;
  const hidden = more === null ? [] : [{ ...more, key: null, component: null, resident_bytes: null }];
  return d.table(
    [...groups, ...hidden],
    [
      d.column('bytes', (group) => group.bytes, { title: 'live' }),
      d.counts('blocks', (group) => group.blocks),
      d.column('resident_bytes', (group) => group.resident_bytes),
      d.names('component', ({ component }) => component ?? ''),
      d.names('key', ({ key }) => key ?? d.t`${d.count(more?.groups ?? 0)} more (--limit 0 shows all)`, {
        title: 'of',
      }),
    ],
    { key: 'groups', kind: ({ key }) => (key === null ? 'others' : undefined) },
  );
}

// ---- a source file

/** Lines kept around those with bytes. */
const CONTEXT = 2;
const FIGURE = 11;

function annotatedSection({
  file,
  matched,
  lines,
  beyond_bytes: beyond,
  device,
}: results.AnnotatedSource): d.MaybePart {
  const title = d.t`${d.as('file', d.code(file))} on device ${device}`;
  const look = { key: 'annotated' };
  if (matched.length === 0)
    return d.section(title, look, d.paragraph('no frame of the recording is of a file of this name'));
  const isNear = (i: number): boolean =>
    lines.slice(Math.max(0, i - CONTEXT), i + CONTEXT + 1).some((line) => line.bytes > 0);
  const cell = (value: number): string => (value === 0 ? '' : formatBytes(value)).padStart(FIGURE);
  const shown = lines.flatMap((line, i) => (isNear(i) ? [{ ...line, i }] : []));
  const listing = shown.flatMap(({ line, text, bytes: size, self_bytes: self, i }, n) => [
    ...(n > 0 && i > shown[n - 1]!.i + 1 ? ['          …'] : []),
    `${cell(self)} ${cell(size)} ${String(line).padStart(5)}  ${text}`,
  ]);
  return d.section(
    d.t`${title}, as ${d.joined(matched.map(d.code), ', ')}`,
    look,
    d.quote([`${'self'.padStart(FIGURE)} ${'through'.padStart(FIGURE)}`, ...listing], { key: 'lines' }),
    beyond > 0 && d.note(textOf('beyond', { beyond_bytes: beyond })),
  );
}
