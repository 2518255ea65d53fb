/**
 * The blocks of a page as PyTorch's memory viewer draws them: one SVG polygon each, moved by a transform of their group.
 * Its polygons have two more points for each free below them, and a listener; these have four points. So this is the
 * least that such a drawing costs.
 */
import { gunzipSync } from 'node:zlib';
import { decodeDevice } from '../src/model/picture/device-bytes.js';
import type { PageData } from '../src/model/picture/page-data.js';

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
  const { blocks, bands } = decodeDevice(gunzipSync(Buffer.from(contentOf(html, 'device-0'), 'base64')), page);
  const largest = Array.from({ length: blocks.count }, (_, i) => i)
    .sort((a, b) => blocks.bytes[b]! - blocks.bytes[a]!)
    .slice(0, MOST_POLYGONS);
  const end = page.lastSeq + 1;
  const total = bands.reduce((sum, band) => sum + band.bytes, 0);
  const xOf = (seq: number): string => ((Math.min(end, Math.max(0, seq)) / end) * WIDTH).toFixed(3);
  const yOf = (place: number): string => (HEIGHT - (place / total) * HEIGHT).toFixed(3);
  const rows = largest.map((i) => {
    const place = blocks.place[i]!;
    const [x0, x1] = [xOf(blocks.from[i]!), xOf(blocks.to[i]!)];
    return `[${x0},${x1},${yOf(place)},${yOf(place + blocks.bytes[i]!)},${blocks.component[i]! * 36}]`;
  });
  return { polygons: largest.length, html: documentOf(rows.join(',')) };
}

const WIDTH = 1512;
const HEIGHT = 420;

/** Sets `benchBuilt`, the milliseconds until the polygons are painted, and `benchDrawn`; `lookAt` shows a part. */
const documentOf = (rows: string): string => `<!doctype html>
<meta charset="utf-8">
<title>polygons</title>
<svg id="polygons" width="${WIDTH}" height="${HEIGHT}"><g></g></svg>
<script>
const rows = [${rows}];
const began = performance.now();
const svg = document.querySelector('svg');
const group = document.querySelector('g');
for (const [x0, x1, y0, y1, hue] of rows) {
  const polygon = document.createElementNS('http://www.w3.org/2000/svg', 'polygon');
  polygon.setAttribute('points', x0 + ',' + y0 + ' ' + x1 + ',' + y0 + ' ' + x1 + ',' + y1 + ' ' + x0 + ',' + y1);
  polygon.setAttribute('fill', 'hsl(' + hue + ' 60% 50%)');
  group.append(polygon);
}
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
