/**
 * The blocks of a page as PyTorch's memory viewer draws them: stacked in the order of their allocation, one SVG polygon
 * each, with two more points where a block below is freed; moved by a transform of their group. Our own code. The
 * viewer also reads the whole trace, and has a listener for each polygon.
 */
import { gunzipSync } from 'node:zlib';
import type { PageData } from '../src/model/picture/page-data.js';
import { decodeDevice } from '../src/report/page/decode-device.js';

/** What the viewer draws unless another number is chosen; smaller blocks are one band. */
export const MOST_POLYGONS = 15_000;

export interface PolygonsPage {
  readonly html: string;
  readonly polygons: number;
}

/** Of the first device, its largest blocks. Throws where a page of `report` has none. */
export function polygonsPage(html: string): PolygonsPage {
  const { devices } = JSON.parse(contentOf(html, 'page')) as PageData;
  const page = devices[0];
  if (page === undefined) throw new Error('the page draws no device');
  const { blocks } = decodeDevice(gunzipSync(Buffer.from(contentOf(html, 'device-0'), 'base64')), page);
  const largest = Array.from({ length: blocks.count }, (_, i) => i)
    .sort((a, b) => blocks.bytes[b]! - blocks.bytes[a]!)
    .slice(0, MOST_POLYGONS);
  const end = page.lastSeq + 1;
  const rows = largest
    .sort((a, b) => a - b)
    .map((i) => [Math.max(0, blocks.from[i]!), Math.min(end, blocks.to[i]!), blocks.bytes[i]!, blocks.component[i]!]);
  return { polygons: largest.length, html: documentOf(JSON.stringify(rows), end) };
}

const WIDTH = 1512;
const HEIGHT = 420;

/** Sets `benchBuilt`, the milliseconds until the polygons are painted, and `benchDrawn`; `lookAt` shows a part. */
const documentOf = (rows: string, end: number): string => `<!doctype html>
<meta charset="utf-8">
<title>polygons</title>
<svg id="polygons" width="${WIDTH}" height="${HEIGHT}"><g></g></svg>
<script>
const rows = ${rows};
const began = performance.now();
const svg = document.querySelector('svg');
const group = document.querySelector('g');
const changes = rows.flatMap(([from, to], i) => (to < ${end} ? [[from, i, true], [to, i, false]] : [[from, i, true]]));
changes.sort(([a, , isAlloc], [b, , isAnother]) => a - b || isAlloc - isAnother);
const bands = rows.map(() => ({ at: [], low: [] }));
const live = [];
let [total, highest] = [0, 0];
for (const [seq, i, isAlloc] of changes) {
  const bytes = rows[i][2];
  if (isAlloc) {
    bands[i].at.push(seq);
    bands[i].low.push(total);
    live.push(i);
    total += bytes;
    highest = Math.max(highest, total);
    continue;
  }
  const place = live.lastIndexOf(i);
  bands[i].at.push(seq);
  bands[i].low.push(bands[i].low.at(-1));
  live.splice(place, 1);
  total -= bytes;
  for (const above of live.slice(place)) {
    const { at, low } = bands[above];
    at.push(seq, seq);
    low.push(low.at(-1), low.at(-1) - bytes);
  }
}
for (const i of live) {
  bands[i].at.push(${end});
  bands[i].low.push(bands[i].low.at(-1));
}
const xOf = (seq) => (seq / ${end}) * ${WIDTH};
const yOf = (bytes) => ${HEIGHT} - (bytes / highest) * ${HEIGHT};
globalThis.benchPoints = 0;
bands.forEach(({ at, low }, i) => {
  const [, , bytes, component] = rows[i];
  const lower = at.map((seq, k) => xOf(seq) + ',' + yOf(low[k]));
  const upper = at.map((seq, k) => xOf(seq) + ',' + yOf(low[k] + bytes)).reverse();
  const polygon = document.createElementNS('http://www.w3.org/2000/svg', 'polygon');
  polygon.setAttribute('points', lower.concat(upper).join(' '));
  polygon.setAttribute('fill', 'hsl(' + 36 * component + ' 60% ' + (40 + (i % 5) * 5) + '%)');
  group.append(polygon);
  benchPoints += 2 * at.length;
});
requestAnimationFrame(() => requestAnimationFrame(() => {
  globalThis.benchDrawn = performance.now();
  globalThis.benchBuilt = globalThis.benchDrawn - began;
}));
let [left, scale, held] = [0, 1, null];
const show = () => group.setAttribute('transform', 'translate(' + left + ' 0) scale(' + scale + ' 1)');
globalThis.lookAt = (from, to) => {
  scale = 1 / (to - from);
  left = -from * scale * ${WIDTH};
  show();
};
svg.addEventListener('wheel', (event) => {
  event.preventDefault();
  const factor = Math.exp(-event.deltaY * 0.002);
  left = event.offsetX - (event.offsetX - left) * factor;
  scale *= factor;
  show();
}, { passive: false });
svg.addEventListener('pointerdown', (event) => { held = event.clientX - left; });
svg.addEventListener('pointermove', (event) => {
  if (held === null) return;
  left = event.clientX - held;
  show();
});
svg.addEventListener('pointerup', () => { held = null; });
</script>
`;

/** Text of the script element with this id. */
function contentOf(html: string, id: string): string {
  const text = new RegExp(`<script[^>]* id="${id}"[^>]*>([^<]*)</script>`).exec(html)?.[1];
  if (text === undefined) throw new Error(`the page has no element ${id}`);
  return text;
}
