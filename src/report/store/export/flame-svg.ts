/**
 * Live memory by call stack as one SVG picture: callers above, callees below, width proportional to bytes. The file
 * needs nothing else: no font, image, style sheet or script of another place. Without script it is a picture with
 * tooltips; its own script adds zoom and search.
 */

import { visibleText } from '../../../model/escape-controls.js';
import type { LiveDevice, LiveFrame, LiveStacks } from '../../../model/results/export.js';
import { formatBytes, formatCount } from '../../../model/units.js';
import { cutMiddle } from '../../plain-text.js';
import { counted, rankName } from '../../text-pieces.js';
import { FLAME_SCRIPT } from './flame-script.js';
import { momentTitle } from './speedscope.js';

/** Pixels. `ROW` is a cell with the gap below it; `CHARACTER` is a glyph of the monospaced font at 11 px. */
const WIDTH = 1200;
const PAD = 10;
const INNER = WIDTH - 2 * PAD;
const ROW = 18;
const TOP = 76;
const CHARACTER = 6.7;
/** Narrower cells are folded. */
const LEAST_WIDTH = 0.5;
/** Longer names are cut in the middle. */
const LONGEST_NAME = 400;
/** Rows below this depth are folded: a browser draws no picture that is much higher. */
const DEEPEST = 1_500;

export interface FlameSvg {
  readonly lines: readonly string[];
  /** Distinct stacks, by the text of their frames. */
  readonly stacks: number;
  /** Bytes of the root: everything live. */
  readonly sumBytes: number;
}

interface Cell {
  readonly text: string;
  /** File of the frame; empty for cells that are not frames. */
  readonly file: string;
  bytes: number;
  blocks: number;
  readonly children: Map<string, Cell>;
}

/** Where a cell is drawn. `kind` of folded cells: how many frames they replace. */
interface Place {
  readonly text: string;
  readonly file: string;
  readonly bytes: number;
  readonly blocks: number;
  readonly depth: number;
  /** Bytes left of it, of the root's. */
  readonly start: number;
  readonly folded: number;
}

/** Cells of the same name under the same caller are one; the widest is leftmost. */
export function flameSvg(live: LiveStacks, exporter: string): FlameSvg {
  const devices = live.devices.filter((device) => device.samples.some((sample) => sample.state !== 'inactive'));
  const { root, stacks } = treeOf(live, devices);
  const least = Math.ceil((root.bytes * LEAST_WIDTH) / INNER);
  const { places, folded } = layout(root, least);
  const depth = places.reduce((most, place) => Math.max(most, place.depth), 0);
  const bottom = TOP + (depth + 1) * ROW;
  const footer = footerLines(live, folded, least, exporter);
  const height = bottom + 12 + footer.length * 16;
  const shown = devices.length === 0 ? live.devices.slice(0, 1) : devices;
  const about = [
    `${cutMiddle(live.handle, 110)} · ${rankName(live.rank)}`,
    ...(shown.length === 1 ? [`device ${shown[0]!.device} ${momentTitle(shown[0]!)}`] : [`${shown.length} devices`]),
  ].join(' · ');
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="ui-monospace, monospace" font-size="11">`,
    `<title>${escaped(`Live memory by call stack: ${formatBytes(root.bytes)} · ${about}`)}</title>`,
    `<style>.f text{pointer-events:none}.f:hover rect{stroke:#000}.live .f,.live .b{cursor:pointer}.b{fill:#06c;display:none}.live .b{display:inline}</style>`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="${PAD}" y="22" font-size="16" font-weight="bold">Live memory by call stack: ${escaped(formatBytes(root.bytes))}</text>`,
    `<text x="${PAD}" y="40">${escaped(about)}</text>`,
    `<text x="${PAD}" y="58" fill="#666" id="detail">Width: allocated bytes. The caller is above, what it called is below.</text>`,
    `<text x="${WIDTH - PAD}" y="22" text-anchor="end" class="b" id="search">search</text>`,
    `<text x="${WIDTH - PAD - 70}" y="22" text-anchor="end" class="b" id="reset">reset zoom</text>`,
    ...places.map((place) => cellLine(place, root.bytes)),
    ...footer.map((text, i) => `<text x="${PAD}" y="${bottom + 14 + i * 16}" fill="#666">${escaped(text)}</text>`),
    `<script>//<![CDATA[\n${FLAME_SCRIPT}//]]></script>`,
    '</svg>',
  ];
  return { lines: lines.map((line) => `${line}\n`), stacks, sumBytes: root.bytes };
}

function cell(text: string, file: string): Cell {
  return { text, file, bytes: 0, blocks: 0, children: new Map() };
}

function treeOf(live: LiveStacks, devices: readonly LiveDevice[]): { readonly root: Cell; readonly stacks: number } {
  const root = cell('all live memory', '');
  const ends = new Set<Cell>();
  for (const device of devices) {
    const title: LiveFrame[] =
      devices.length < 2
        ? []
        : [{ name: '', filename: '', line: 0, text: `device ${device.device} ${momentTitle(device)}` }];
    for (const sample of device.samples) {
      if (sample.state === 'inactive' || sample.bytes === 0) continue;
      let at = root;
      add(at, sample);
      for (const frame of [...title, ...live.stacks[sample.stack]!.map((row) => live.frames[row]!)]) {
        let next = at.children.get(frame.text);
        if (next === undefined) {
          next = cell(frame.text, frame.filename);
          at.children.set(frame.text, next);
        }
        add(next, sample);
        at = next;
      }
      ends.add(at);
    }
  }
  return { root, stacks: ends.size };
}

function add(to: Cell, { bytes, blocks }: { readonly bytes: number; readonly blocks: number }): void {
  to.bytes += bytes;
  to.blocks += blocks;
}

interface Folded {
  frames: number;
  bytes: number;
}

/** Cells from the root on, siblings by bytes, then one for all that are too narrow. Not recursive: stacks are deep. */
function layout(root: Cell, least: number): { readonly places: readonly Place[]; readonly folded: Folded } {
  const places: Place[] = [];
  const folded: Folded = { frames: 0, bytes: 0 };
  const waiting = root.bytes === 0 ? [] : [{ cell: root, depth: 0, start: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { cell: at, depth, start } = next;
    const { text, file, bytes, blocks } = at;
    places.push({ text, file, bytes, blocks, depth, start, folded: 0 });
    const children = [...at.children.values()].sort((a, b) => b.bytes - a.bytes || (a.text < b.text ? -1 : 1));
    const isDeepest = depth >= DEEPEST;
    const small: Cell = cell('', '');
    let frames = 0;
    let left = start;
    for (const child of children) {
      if (child.bytes < least || isDeepest) {
        add(small, child);
        frames += framesIn(child);
      } else {
        waiting.push({ cell: child, depth: depth + 1, start: left });
        left += child.bytes;
      }
    }
    if (frames === 0) continue;
    folded.frames += frames;
    folded.bytes += small.bytes;
    if (small.bytes < least) continue;
    const what = `${counted(frames, 'frame')}, folded`;
    places.push({
      text: what,
      file: '',
      bytes: small.bytes,
      blocks: small.blocks,
      depth: depth + 1,
      start: left,
      folded: frames,
    });
  }
  return { places, folded };
}

function framesIn(from: Cell): number {
  let frames = 0;
  const waiting = [from];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    frames += 1;
    for (const child of next.children.values()) waiting.push(child);
  }
  return frames;
}

function cellLine(place: Place, total: number): string {
  const x = PAD + (INNER * place.start) / total;
  const width = (INNER * place.bytes) / total;
  const text = visibleText(cutMiddle(place.text, LONGEST_NAME));
  const share = `${((100 * place.bytes) / total).toFixed(2)} %`;
  const title = `${text}\n${formatBytes(place.bytes)} · ${share} · ${counted(place.blocks, 'block')}`;
  const fill = place.folded > 0 ? '#ccc' : place.file === '' ? '#d5dbe0' : colourOf(place.file);
  const box = `x="${x.toFixed(3)}" y="${TOP + place.depth * ROW}" width="${width.toFixed(3)}" height="${ROW - 1}"`;
  const edge = width < 6 ? '' : ' stroke="#fff" stroke-width="0.7"';
  const label = fitted(text, width);
  const shown = `<text x="3" y="12.5">${entities(label)}</text>`;
  return `<svg class="f" ${box} data-bytes="${place.bytes}"><title>${entities(title)}</title><rect width="100%" height="100%" fill="${fill}"${edge}/>${shown}</svg>`;
}

function fitted(text: string, width: number): string {
  const characters = Math.floor((width - 6) / CHARACTER);
  if (characters < 3) return '';
  const all = [...text];
  return all.length <= characters ? text : `${all.slice(0, characters - 1).join('')}…`;
}

function footerLines(live: LiveStacks, folded: Folded, least: number, exporter: string): string[] {
  const what = `${counted(folded.frames, 'frame')} below ${formatBytes(least)}, ${formatBytes(folded.bytes)} in all`;
  const approximate = live.devices.some((device) => device.basis === 'approximate');
  return [
    folded.frames === 0 ? 'Nothing is folded.' : `Folded: ${what}. Colour: the package of the file.`,
    ...(approximate ? ['Approximate: the trace contradicts itself, so sizes are best estimates.'] : []),
    ...(live.missing.length === 0
      ? []
      : [`Without this moment: ${live.missing.map((n) => `device ${formatCount(n)}`).join(', ')}.`]),
    `${cutMiddle(live.path, 120)} · ${exporter}`,
  ];
}

/** The hue is the package's, the lightness the file's: the same in every picture. */
function colourOf(file: string): string {
  const path = file.replaceAll('\\', '/');
  const installed = /^.*(?:site|dist)-packages\/([^/]*)/.exec(path)?.[1];
  const parts = path.split('/').slice(-3);
  return `hsl(${hash(installed ?? parts[0]!) % 360},${50 + (hash(path) % 20)}%,${70 + (hash(path) % 13)}%)`;
}

/** FNV-1a of the UTF-16 code units. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}

function entities(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;');
}

function escaped(text: string): string {
  return entities(visibleText(text));
}
