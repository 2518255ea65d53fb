/**
 * The style of the page. Colours are variables with two sets of values, for light and dark schemes; those of surfaces,
 * ink and grids are the ones that `src/report/page/palette.ts` draws with. No rule loads anything.
 */

const COLOURS = `
:root {
  color-scheme: light dark;
  --page: #f4f6f8; --surface: #ffffff; --raised: #f7f9fb; --ink: #1b2229; --muted: #5b6670; --grid: #e3e7eb;
  --edge: #d5dbe1; --link: #0a5fa8; --focus: #0a5fa8; --code: #f0f3f6; --shadow: rgb(20 30 40 / 0.06);
  --bad: #b3261e; --bad-soft: #fdecea; --good: #1a7340; --good-soft: #e6f4ea; --unsure: #8a5a00; --unsure-soft: #fff3d6;
  --live: #1f6fb2; --cached: #e2a72e; --outside: #8a63b8; --foreign: #c2552d; --pools: #4d5b68; --pending: #d9306f;
  --free: #dde3e9; --rest: #9aa5af; --on-dark: #ffffff; --on-light: #1b2229; --hatch: rgb(255 255 255 / 0.45);
  --q0: #edf4fa; --q1: #d3e4f2; --q2: #b3d1e8; --q3: #8bbadb; --q4: #619fcb; --q5: #3f83b8; --q6: #2767a0; --q7: #164c82;
  --q8: #0b3160; --more: #c2552d; --less: #2a8a63;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0b0e12; --surface: #12161b; --raised: #181d24; --ink: #e8ecf0; --muted: #9aa5af; --grid: #2b333b;
    --edge: #2b333b; --link: #7cbcf0; --focus: #7cbcf0; --code: #1c222a; --shadow: rgb(0 0 0 / 0.4);
    --bad: #ff8a80; --bad-soft: #34191a; --good: #6fd396; --good-soft: #12291c; --unsure: #f2c14e; --unsure-soft: #2e2510;
    --live: #4f9fe0; --cached: #d99f2b; --outside: #a583d0; --foreign: #e2774f; --pools: #a3b0bc; --pending: #ff7aa8;
    --free: #2a323a; --rest: #69747f; --on-dark: #0b0e12; --on-light: #e8ecf0; --hatch: rgb(0 0 0 / 0.4);
    --q0: #16222d; --q1: #173146; --q2: #1a4263; --q3: #205682; --q4: #2d6ea3; --q5: #4389c0; --q6: #65a6d8; --q7: #94c5ea;
    --q8: #cfe6f8; --more: #f08a63; --less: #5cc496;
  }
}`;

const PAGE = `
* { box-sizing: border-box; }
html { scroll-padding-top: 3.5rem; -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; max-width: 1500px; padding: 1.25rem clamp(0.75rem, 2.5vw, 2rem) 3rem; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
h1, h2, h3, h4 { line-height: 1.25; text-wrap: balance; }
h2 { font-size: 1.15rem; margin: 0 0 0.25rem; }
h3 { font-size: 0.95rem; margin: 1.25rem 0 0.35rem; }
h4 { font-size: 0.85rem; margin: 0.75rem 0 0.25rem; color: var(--muted); font-weight: 600; }
p { margin: 0.4rem 0; max-width: 95ch; text-wrap: pretty; }
ul, ol { margin: 0.4rem 0; padding-left: 1.25rem; }
li { margin: 0.2rem 0; max-width: 110ch; }
a { color: var(--link); }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; border-radius: 3px; }
code, pre, .quote { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { font-size: 0.87em; overflow-wrap: anywhere; }
pre {
  margin: 0.5rem 0; padding: 0.6rem 0.8rem; overflow-x: auto; border-radius: 6px; background: var(--code);
  font-size: 0.85rem; line-height: 1.45; tab-size: 4;
}
.muted, small { color: var(--muted); }
small { font-size: 0.8em; }
.note { color: var(--muted); font-size: 0.87rem; }
.redacted { margin: 0 0 0.5rem; }
.about { color: var(--muted); margin: 0 0 0.75rem; }
.error { padding: 0.6rem 0.9rem; border-radius: 6px; background: var(--bad-soft); color: var(--bad); }
.skip-link { position: absolute; left: -999rem; }
.skip-link:focus { left: 1rem; top: 0.5rem; z-index: 9; padding: 0.4rem 0.8rem; background: var(--surface); }
.defs { position: absolute; }
section, .head {
  margin: 1rem 0; padding: 1.1rem 1.3rem 1.2rem; border: 1px solid var(--edge); border-radius: 10px;
  background: var(--surface); box-shadow: 0 1px 2px var(--shadow);
}
footer { margin: 1.5rem 0.25rem 0; color: var(--muted); font-size: 0.85rem; overflow-wrap: anywhere; }
nav {
  position: sticky; top: 0; z-index: 5; display: flex; gap: 0.1rem; overflow-x: auto; margin: 0 -0.5rem; padding: 0.4rem 0.5rem;
  background: color-mix(in srgb, var(--page) 92%, transparent); backdrop-filter: blur(6px); scrollbar-width: thin;
}
nav a {
  flex: none; padding: 0.25rem 0.7rem; border-radius: 999px; color: var(--muted); font-size: 0.87rem; text-decoration: none;
}
nav a:hover { background: var(--surface); color: var(--ink); }`;

const HEAD = `
.head { position: relative; margin-top: 0; padding: 1.3rem 1.5rem 1.2rem; overflow: hidden; }
.head::before { content: ""; position: absolute; inset: 0 auto 0 0; width: 5px; background: var(--tone); }
.bad { --tone: var(--bad); --tone-soft: var(--bad-soft); }
.good { --tone: var(--good); --tone-soft: var(--good-soft); }
.unsure { --tone: var(--unsure); --tone-soft: var(--unsure-soft); }
.plain { --tone: var(--link); --tone-soft: var(--code); }
.places {
  display: flex; flex-wrap: wrap; align-items: center; gap: 0.2rem 0.9rem; margin: 0; max-width: none; color: var(--muted);
  font-size: 0.93rem; overflow-wrap: anywhere;
}
.badge {
  padding: 0.1rem 0.6rem; border-radius: 999px; background: var(--tone-soft); color: var(--tone); font-size: 0.8rem;
  letter-spacing: 0.04em;
}
.title { margin: 0.5rem 0 0.2rem; font-size: clamp(1.35rem, 2.6vw, 1.9rem); font-weight: 650; letter-spacing: -0.01em; }
section.head .title { font-size: 1.35rem; }
.summary { font-size: 1.05rem; margin: 0; max-width: none; }
.boxes { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; margin-top: 1rem; }
.box { padding: 0.9rem 1.1rem; border: 1px solid var(--edge); border-radius: 8px; background: var(--raised); min-width: 0; }
.box.fix { border-color: var(--tone); }
.box h2 { font-size: 0.78rem; text-transform: uppercase; letter-spacing: 0.07em; color: var(--muted); }
.box ul { padding-left: 1.1rem; }
.box > :last-child { margin-bottom: 0; }
.paste { border: 1px solid var(--edge); background: var(--surface); font-size: 0.92rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.facts { margin: 0.5rem 0; }
.facts div { display: grid; grid-template-columns: 4.5rem 1fr; gap: 0.5rem; }
.facts dt { color: var(--muted); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.e {
  padding: 0 0.35rem; border-radius: 4px; background: var(--code); font-size: 0.8rem; font-weight: 600; text-decoration: none;
  white-space: nowrap;
}
.also, .steps { color: var(--ink); }
.others { margin-top: 1rem; }
.others h2 { font-size: 0.95rem; }
.next { color: var(--muted); font-size: 0.9rem; max-width: none; margin-bottom: 0; }
.next code { color: var(--ink); }
details > summary { cursor: pointer; }
details.more, details.twin { margin-top: 0.6rem; }
details.more > summary, details.twin > summary, details.sql > summary { color: var(--link); font-size: 0.9rem; }
details.verdict, details.evidence, details.capture {
  margin: 0.4rem 0; padding: 0.4rem 0.8rem; border: 1px solid var(--edge); border-radius: 6px; overflow-wrap: anywhere;
}
details.verdict { border-left: 3px solid var(--tone); }
details.evidence[open], details.capture[open] { padding-bottom: 0.8rem; }
details.evidence:target, details.evidence.chosen { border-color: var(--focus); box-shadow: 0 0 0 1px var(--focus); }`;

const TABLES = `
.scroll { overflow-x: auto; margin: 0.6rem 0; }
table { border-collapse: collapse; font-size: 0.87rem; font-variant-numeric: tabular-nums; }
caption { padding: 0 0 0.25rem; text-align: left; color: var(--muted); font-size: 0.87rem; white-space: nowrap; }
th, td { padding: 0.22rem 0.7rem; text-align: right; vertical-align: top; white-space: nowrap; }
th:first-child, td:first-child { padding-left: 0.2rem; }
th { border-bottom: 1px solid var(--edge); color: var(--muted); font-weight: 600; }
td { border-bottom: 1px solid var(--grid); }
th.w, td.w, th.s, td.s { text-align: left; }
th { white-space: normal; vertical-align: bottom; }
td code { overflow-wrap: break-word; }
td.w { white-space: pre-wrap; overflow-wrap: break-word; max-width: 72ch; }
tbody tr:hover > td { background: var(--raised); }
tr.sum > td { border-top: 1px solid var(--muted); border-bottom: 0; font-weight: 650; }
tr.group > td { font-weight: 650; }
tr.share > td { color: var(--muted); }
tr.share > td.w:first-child, tr.share > td.s:first-child { padding-left: 1.3rem; }
td > .share, td > .change { float: left; margin: 0.4em 0.7rem 0 0; }
.track { fill: var(--grid); }
.fill { fill: var(--live); }
.axis { fill: var(--muted); }
.more { fill: var(--more); }
.less { fill: var(--less); }
.status { padding: 0 0.45rem; border-radius: 4px; background: var(--code); font-size: 0.82rem; white-space: nowrap; }
.status.regression, .status.bad, .status.holds { background: var(--bad-soft); color: var(--bad); }
.status.pass, .status.improvement, .status.good { background: var(--good-soft); color: var(--good); }
.status.undecided, .status.not_testable, .status.skip { background: var(--unsure-soft); color: var(--unsure); }
.suspects pre { max-width: 100ch; }
.quote { padding: 0.5rem 0; }
.quote .line { display: block; padding: 0 0.8rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere; color: var(--muted); }
.quote .at { background: var(--unsure-soft); color: var(--ink); }
.quote .number { display: inline-block; width: 5.5rem; padding-right: 1rem; text-align: right; user-select: none; }`;

const DRAWINGS = `
.account { margin: 0.9rem 0 1.1rem; }
.account-title { margin: 0 0 0.3rem; max-width: none; }
svg text { fill: var(--muted); font-size: 12px; }
.bar { display: block; border-radius: 6px; overflow: hidden; }
.bar.request { overflow: visible; border-radius: 0; }
.bar text { font-size: 13px; fill: var(--on-light); }
.bar text.size { font-weight: 650; font-size: 14px; }
.bar text.on-p-live, .bar text.on-p-outside, .bar text.on-p-foreign, .bar text.on-p-pools, .bar text.on-p-pending {
  fill: var(--on-dark);
}
.bar text.on-p-cached { fill: #1b2229; }
.part { stroke: var(--surface); stroke-width: 1.5; }
.p-live { fill: var(--live); }
.p-cached { fill: var(--cached); }
.p-outside { fill: var(--outside); }
.p-foreign { fill: var(--foreign); }
.p-pools { fill: var(--pools); }
.p-pending { fill: var(--pending); }
.p-free { fill: var(--free); }
.p-rest { fill: var(--rest); }
.hatch { fill: var(--hatch); }
.wanted { fill: none; stroke: var(--bad); stroke-width: 2; }
.bar.request text { fill: var(--bad); font-size: 13px; }
.legend { display: flex; flex-wrap: wrap; gap: 0.15rem 1.2rem; margin: 0.45rem 0 0; padding: 0; list-style: none; font-size: 0.87rem; }
.legend li { margin: 0; display: flex; align-items: center; gap: 0.4rem; white-space: nowrap; }
.legend b { font-variant-numeric: tabular-nums; }
.swatch { flex: none; border-radius: 3px; }
.maps { display: flex; flex-wrap: wrap; gap: 0.5rem 3rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr)); gap: 1.2rem 2rem; }
figure { margin: 0.6rem 0; min-width: 0; }
figcaption { margin-bottom: 0.4rem; font-size: 0.9rem; color: var(--muted); }
figcaption b { color: var(--ink); }
.heat { overflow-x: auto; }
.cells { display: block; }
.scale { display: flex; align-items: center; gap: 0.6rem; font-size: 0.82rem; color: var(--muted); }
.q0 { fill: var(--q0); } .q1 { fill: var(--q1); } .q2 { fill: var(--q2); } .q3 { fill: var(--q3); } .q4 { fill: var(--q4); }
.q5 { fill: var(--q5); } .q6 { fill: var(--q6); } .q7 { fill: var(--q7); } .q8 { fill: var(--q8); }
.qn { fill: none; stroke: var(--edge); }
.cells path:hover { stroke: var(--ink); stroke-width: 1.5; }
.cells text.on-q0, .cells text.on-q1, .cells text.on-q2, .cells text.on-q3, .cells text.on-q4 {
  fill: var(--ink);
}
.cells text.on-q5, .cells text.on-q6, .cells text.on-q7, .cells text.on-q8 { fill: var(--surface); }
.cells text { pointer-events: none; }
.cells.small text { font-size: 9px; }
.cross { fill: none; stroke: var(--bad); stroke-width: 2; pointer-events: none; }
.cross.halo { stroke: var(--surface); stroke-width: 4; }
td.q0, td.q1, td.q2, td.q3, td.q4 { color: var(--ink); }
td.q5, td.q6, td.q7, td.q8 { color: var(--surface); }
td[class^="q"] small { color: inherit; opacity: 0.8; }
td.q0 { background: var(--q0); } td.q1 { background: var(--q1); } td.q2 { background: var(--q2); }
td.q3 { background: var(--q3); } td.q4 { background: var(--q4); } td.q5 { background: var(--q5); }
td.q6 { background: var(--q6); } td.q7 { background: var(--q7); } td.q8 { background: var(--q8); }
.chart svg:not(.swatch) { width: 100%; height: auto; display: block; }
.grid { stroke: var(--grid); fill: none; }
.line { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.l0 { stroke: var(--live); }
.l1 { stroke: var(--cached); stroke-dasharray: 5 3; }
.l2 { stroke: var(--outside); stroke-dasharray: 2 2; }
.range { stroke: var(--muted); stroke-width: 2; }
.dot { fill: var(--live); stroke: var(--surface); }
.dot.good { fill: var(--good); } .dot.bad { fill: var(--bad); } .dot.skip { fill: none; stroke: var(--muted); }
.dot.failed { fill: none; stroke: var(--bad); stroke-width: 2; }
path.mark { stroke: var(--bad); stroke-dasharray: 4 3; fill: none; }
text.mark { fill: var(--bad); font-weight: 600; }
path.mark.better { stroke: var(--good); }
text.mark.better { fill: var(--good); }`;

/** Of what the scripts put into `.view`. */
const VIEWS = `
.view { position: relative; margin: 0.6rem 0 0.2rem; }
.view canvas { display: block; max-width: 100%; touch-action: pan-y; }
.view .raster { position: relative; }
.view .overlay { position: absolute; left: 0; top: 0; }
.view canvas:focus-visible { outline-offset: -2px; }
.stack { position: relative; }
.tools { display: flex; flex-wrap: wrap; align-items: center; gap: 0.4rem; margin: 0 0 0.5rem; font-size: 0.87rem; }
.tools button, .tools select, .tools input {
  padding: 0.22rem 0.7rem; border: 1px solid var(--edge); border-radius: 6px; background: var(--surface); color: var(--ink);
  font: inherit; cursor: pointer;
}
.tools input { cursor: text; }
.tools button:hover:not(:disabled) { border-color: var(--muted); }
.tools button:disabled { color: var(--muted); cursor: default; opacity: 0.6; }
.tools button[aria-pressed="true"] { border-color: var(--link); background: var(--link); color: var(--surface); }
.tip {
  position: absolute; z-index: 4; max-width: min(46rem, 90%); padding: 0.4rem 0.6rem; border: 1px solid var(--edge); border-radius: 6px;
  background: var(--surface); box-shadow: 0 4px 14px var(--shadow); font-size: 0.82rem; pointer-events: none; white-space: pre-line;
  overflow-wrap: anywhere;
}
.readout { min-height: 1.6em; font-size: 0.88rem; font-variant-numeric: tabular-nums; }
.view table { margin-top: 0.5rem; }
@media (scripting: none) { .view, .readout { display: none; } }`;

const MEDIA = `
@media (max-width: 40rem) {
  body { font-size: 14px; }
  section, .head { padding: 0.9rem; }
  .bar text { display: none; }
  td.w { max-width: 40ch; }
}
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
@media (forced-colors: active) {
  svg, .swatch { forced-color-adjust: none; }
  svg text { fill: CanvasText; }
  .badge, .status, .e, .box, section, .head { border: 1px solid CanvasText; }
}
@media print {
  :root { --page: #ffffff; --shadow: transparent; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav, .skip-link, .tools, .tip { display: none; }
  section, .head { border: 0; border-top: 1px solid #999; border-radius: 0; box-shadow: none; padding: 0.6rem 0; }
  .head { padding-left: 1.2rem; }
  * { print-color-adjust: exact; }
  .scroll { overflow: visible; }
  table { font-size: 8pt; }
  th, td { padding: 0.15rem 0.4rem; white-space: normal; }
  td.w { overflow-wrap: anywhere; }
  thead { display: table-header-group; }
  tr, figure, .account, .box { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
}`;

export const STYLE = `${[COLOURS, PAGE, HEAD, TABLES, DRAWINGS, VIEWS, MEDIA].map((part) => part.trim()).join('\n')}\n`;
