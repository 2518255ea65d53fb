/**
 * The stacked view of one device as a picture that needs nothing else: for a README or a pull request. Each column is a
 * true state, the one of its entries at which most was live, so the picture shows the exact peak. Pure.
 */
import { visibleText } from '../../model/escape-controls.js';
import { maxOf, sumOf } from '../../model/lists.js';
import type { PageDevice, PageLevel, PageMark } from '../../model/picture/page-data.js';
import type { ReportResult } from '../../model/results/report.js';
import { formatBytes, formatCount, GIB, KIB, MIB } from '../../model/units.js';
import { paletteOf } from '../page/palette.js';
import { cutMiddle } from '../plain-text.js';
import { answerOf, headline } from '../start/diagnosis-parts.js';
import { figure } from '../text-pieces.js';
import { type Attributes, type Child, element, type SafeHtml, textElement, trusted } from './html.js';
import { niceAxis } from './line-chart.js';

/** Pixels. */
const WIDTH = 900;
const HEIGHT = 360;
const LEFT = 64;
const RIGHT = 226;
const TOP = 76;
const BOTTOM = 34;
const PLOT_WIDTH = WIDTH - LEFT - RIGHT;
const PLOT_HEIGHT = HEIGHT - TOP - BOTTOM;
/** Characters of a title. */
const LONGEST_TITLE = 96;
const LONGEST_PLACE = 118;
const MOST_STATES = 400;
/** Components in the legend; the others are summed up. */
const MOST_NAMED = 9;
const ROW = 18;

/** `level`: of the first device, over its whole trace. */
export function stackedSvg(report: ReportResult, level: PageLevel): string {
  const { page } = report.devices[0]!;
  const total = page.deviceTotalBytes;
  const states = chosenStates(level);
  const largest = Math.max(maxOf(level.reservedMost), maxOf(level.active), total ?? 0);
  const [unit, unitName] = unitOf(largest);
  const axis = niceAxis(0, largest, unit);
  const toX = (seq: number): number => LEFT + (PLOT_WIDTH * (seq - level.from)) / (level.to - level.from + 1);
  const toY = (bytes: number): number => TOP + PLOT_HEIGHT * (1 - bytes / axis.top);
  const content = [
    element('style', {}, trusted(styleOf(page.components))),
    element(
      'defs',
      {},
      element(
        'pattern',
        { id: 'h', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
        element('rect', { class: 'hatch', width: 2, height: 6 }),
      ),
    ),
    element('rect', { class: 'page', width: WIDTH, height: HEIGHT }),
    textElement('text', cutMiddle(titleOf(report), LONGEST_TITLE), { class: 'title', x: 16, y: 26 }),
    textElement('text', placeOf(report, page), { x: 16, y: 46 }),
    axis.ticks.map((tick) => [
      element('path', { class: 'grid', d: `M${LEFT} ${short(toY(tick))}h${PLOT_WIDTH}` }),
      textElement('text', `${figure(tick / unit)} ${unitName}`, {
        ...{ x: LEFT - 8, y: short(toY(tick) + 4), 'text-anchor': 'end' },
      }),
    ]),
    element('path', { class: 'free', d: area(states, toX, toY, ({ reserved }) => toY(reserved)) }),
    areas(page, level, states, toX, toY),
    element('path', { class: 'reserved', d: steps(states, toX, ({ reserved }) => toY(reserved)) }),
    total !== null && element('path', { class: 'device', d: `M${LEFT} ${short(toY(total))}h${PLOT_WIDTH}` }),
    marksOf(page.marks, level, toX),
    [level.from, level.to].map((seq, i) =>
      textElement('text', `${i === 0 ? 'entry ' : ''}${formatCount(seq)}`, {
        ...{ x: i === 0 ? LEFT : LEFT + PLOT_WIDTH, y: HEIGHT - 14, 'text-anchor': i === 0 ? 'start' : 'end' },
      }),
    ),
    legendOf(page, level),
  ];
  const svg = element(
    'svg',
    {
      ...{ xmlns: 'http://www.w3.org/2000/svg', width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}` },
      ...{ role: 'img', 'data-generator': report.program.replace(' ', '/') },
      'font-family': 'system-ui, -apple-system, Segoe UI, Roboto, DejaVu Sans, sans-serif',
      'font-size': 12,
    },
    textElement('title', titleOf(report)),
    content,
  );
  return `${svg}\n`;
}

const short = (value: number): number => Number(value.toFixed(1));

function unitOf(bytes: number): [bytes: number, name: string] {
  if (bytes >= GIB) return [GIB, 'GiB'];
  return bytes >= MIB ? [MIB, 'MiB'] : [KIB, 'KiB'];
}

function titleOf({ diagnosis, title }: ReportResult): string {
  const verdict = diagnosis?.verdicts[0];
  if (diagnosis === null || verdict === undefined) return visibleText(title);
  return visibleText(`${headline(verdict, diagnosis).split(' · ')[0]!}: ${answerOf(verdict, diagnosis).texts[0]}`);
}

function placeOf({ title }: ReportResult, page: PageDevice): string {
  const basis = page.basis === 'approximate' ? ' · approximate: the trace contradicts itself' : '';
  return cutMiddle(visibleText(`${title} · ${page.title}${basis}`), LONGEST_PLACE);
}

// ---- states

interface State {
  /** Column of the level whose state is drawn. */
  readonly column: number;
  /** Entries that it is drawn for: from this one to the next state's. */
  readonly from: number;
  readonly to: number;
  /** The most of the entries. */
  readonly reserved: number;
}

/** Of each of equal parts of the columns the one with the most active bytes. */
function chosenStates(level: PageLevel): State[] {
  const parts = Math.min(MOST_STATES, level.columns);
  const entryOf = (column: number): number =>
    level.from + Math.floor((column * (level.to - level.from + 1)) / level.columns);
  return Array.from({ length: parts }, (_, part) => {
    const first = Math.floor((part * level.columns) / parts);
    const end = Math.floor(((part + 1) * level.columns) / parts);
    let column = first;
    let reserved = 0;
    for (let i = first; i < end; i += 1) {
      if (level.active[i]! > level.active[column]!) column = i;
      reserved = Math.max(reserved, level.reservedMost[i]!);
    }
    return { column, reserved, from: entryOf(first), to: entryOf(end) };
  });
}

// ---- drawing

type Scale = (value: number) => number;

/** Each area reaches from 0 to the sum of its component and those below, the highest first. */
function areas(page: PageDevice, level: PageLevel, states: readonly State[], toX: Scale, toY: Scale): Child {
  const { hatched } = paletteOf(page.components, false);
  const sums = new Float64Array(states.length);
  const drawn: SafeHtml[][] = [];
  level.components.forEach((bytes, c) => {
    states.forEach(({ column }, i) => {
      sums[i]! += bytes[column]!;
    });
    if (states.every(({ column }) => bytes[column] === 0)) return;
    const d = area(states, toX, toY, (_, i) => toY(sums[i]!));
    drawn.push([
      element('path', { class: `area c${c}`, d }),
      ...(hatched[c] === 1 ? [element('path', { fill: 'url(#h)', d })] : []),
    ]);
  });
  return drawn.reverse();
}

/** From 0 to a height. */
function area(states: readonly State[], toX: Scale, toY: Scale, top: (state: State, i: number) => number): string {
  return `${steps(states, toX, top)}V${short(toY(0))}H${short(toX(states[0]!.from))}z`;
}

/** Flat from one state to the next. Equal heights are one line. */
function steps(states: readonly State[], toX: Scale, toY: (state: State, i: number) => number): string {
  let path = '';
  let height = Number.NaN;
  states.forEach((state, i) => {
    const y = short(toY(state, i));
    if (y === height) return;
    path += i === 0 ? `M${short(toX(state.from))} ${y}` : `H${short(toX(state.from))}V${y}`;
    height = y;
  });
  return `${path}H${short(toX(states.at(-1)!.to))}`;
}

const SHOWN = new Set<PageMark['kind']>(['oom', 'peak']);

/** Pixels of a character of a label. */
const CHARACTER = 7;

/** Lines at the OOMs and at the peak. A label that would cover another is left out; those of OOMs come first. */
function marksOf(marks: readonly PageMark[], level: PageLevel, toX: Scale): Child {
  const labels: { readonly from: number; readonly to: number }[] = [];
  const order = (mark: PageMark): number => (mark.kind === 'oom' ? 0 : 1);
  return marks
    .filter(({ kind, seq }) => SHOWN.has(kind) && seq >= level.from && seq <= level.to)
    .toSorted((a, b) => order(a) - order(b) || a.seq - b.seq)
    .map(({ kind, seq, bytes }) => {
      const x = short(toX(seq + 0.5));
      const size = bytes === null ? '' : ` ${formatBytes(bytes)}`;
      const label = kind === 'oom' ? `OOM: requested${size}` : `peak${size}`;
      const isRight = x > LEFT + PLOT_WIDTH / 2;
      const width = CHARACTER * label.length + 6;
      const [from, to] = isRight ? [x - width, x] : [x, x + width];
      const isFree = labels.every((one) => to < one.from || from > one.to);
      if (isFree) labels.push({ from, to });
      const place = { x: isRight ? x + 2 : x - 2, y: TOP - 14, 'text-anchor': isRight ? 'end' : 'start' };
      return [
        element('path', { class: kind, d: `M${x} ${TOP - 8}V${TOP + PLOT_HEIGHT}` }),
        isFree && textElement('text', label, { class: kind, ...place }),
      ];
    });
}

/** Lines and areas with their bytes at the peak of the level, the highest of the stack first. */
function legendOf(page: PageDevice, level: PageLevel): Child {
  let peak = 0;
  for (let i = 1; i < level.columns; i += 1) if (level.active[i]! > level.active[peak]!) peak = i;
  const { hatched } = paletteOf(page.components, false);
  const [active, reserved] = [level.active[peak]!, level.reserved[peak]!];
  const present = page.components
    .map((name, c) => ({ name, c, bytes: level.components[c]![peak]! }))
    .filter(({ c }) => maxOf(level.components[c]!) > 0)
    .reverse();
  const smallest = present.toSorted((a, b) => a.bytes - b.bytes).slice(0, Math.max(0, present.length - MOST_NAMED));
  const x = WIDTH - RIGHT + 22;
  let y = TOP - 14;
  const row = (name: string, bytes: number, sign: (top: number) => Child): Child => {
    y += ROW;
    return [
      sign(y - 10),
      textElement('text', name, { x: x + 18, y }),
      textElement('text', formatBytes(bytes), { class: 'size', x: WIDTH - 16, y, 'text-anchor': 'end' }),
    ];
  };
  const box = (top: number): Attributes => ({ x, y: top, width: 12, height: 12 });
  const line = (className: string) => (top: number) => element('path', { class: className, d: `M${x} ${top + 6}h12` });
  return [
    textElement('text', 'at the peak', { x, y }),
    page.deviceTotalBytes !== null && row('device', page.deviceTotalBytes, line('device')),
    row('reserved', reserved, line('reserved')),
    row('cached, free', reserved - active, (top) => element('rect', { class: 'free', ...box(top) })),
    present
      .filter((one) => !smallest.includes(one))
      .map(({ name, c, bytes }) =>
        row(name.replaceAll('_', ' '), bytes, (top) => [
          element('rect', { class: `c${c}`, ...box(top) }),
          hatched[c] === 1 && element('rect', { fill: 'url(#h)', ...box(top) }),
        ]),
      ),
    smallest.length > 0 && row(`${smallest.length} others`, sumOf(smallest.map(({ bytes }) => bytes)), () => null),
    row('live, in all', active, () => null),
  ];
}

/** `#rrggbb`, which every viewer of SVG reads, of a word 0xAABBGGRR. */
function hexOf(color: number): string {
  const rgb = ((color & 0xff) << 16) | (color & 0xff00) | ((color >>> 16) & 0xff);
  return `#${rgb.toString(16).padStart(6, '0')}`;
}

/** The colours of the page, for light and for dark. */
function styleOf(components: readonly string[]): string {
  const theme = (dark: boolean): string => {
    const { css, ...colours } = paletteOf(components, dark);
    const [ink, muted, grid] = [colours.ink, colours.muted, colours.grid].map(hexOf);
    const [oom, free, page] = [colours.oom, colours.free, colours.background].map(hexOf);
    return [
      `text{fill:${muted}}.title,.size{fill:${ink}}.page{fill:${page}}.grid{stroke:${grid}}.hatch{fill:${page}}.free{fill:${free}}`,
      `.area{stroke:${page}}.reserved,.device,path.peak{stroke:${ink}}path.oom{stroke:${oom}}`,
      `text.oom{fill:${oom}}text.peak{fill:${ink}}text.oom,text.peak{stroke:${page}}`,
      ...css.map((color, c) => `.c${c}{fill:${color}}`),
    ].join('');
  };
  return [
    '.title{font-size:16px;font-weight:650}.size{font-variant-numeric:tabular-nums}.strong{font-weight:650}',
    'path{stroke-width:1}.grid,.reserved,.device,path.oom,path.peak{fill:none}.area{stroke-width:.5}',
    '.reserved{stroke-width:1.4}.device{stroke-dasharray:6 4}path.oom{stroke-width:2}path.peak{stroke-dasharray:2 3}',
    '.hatch{opacity:.35}text.oom,text.peak{font-weight:600;stroke-width:3;paint-order:stroke}',
    `${theme(false)}@media (prefers-color-scheme:dark){${theme(true)}}`,
  ].join('');
}
