/**
 * Style of what all views share, with the variables of `src/report/html/style.ts`. The generator puts both into the one
 * style of the page.
 */
export const VIEW_STYLE = `
.view { font-size: 13px; line-height: 1.45; }
.view .tools { display: flex; flex-wrap: wrap; gap: 8px 24px; margin: 0 0 10px; align-items: center; font-size: 13px; }
.view .choice { display: inline-flex; flex-wrap: wrap; align-items: center; }
.view .choice-label { margin-right: 9px; color: var(--muted); }
.view .choice button, .view .choice select { font: inherit; color: var(--ink); background: var(--surface);
  margin: 0 0 0 -1px; padding: 3px 11px; border: 1px solid var(--edge); border-radius: 0; cursor: pointer; }
.view .choice select { padding: 3px 6px; }
.view .choice .choice-label + button, .view .choice .choice-label + select { border-radius: 6px 0 0 6px; margin-left: 0; }
.view .choice > :last-child { border-radius: 0 6px 6px 0; }
.view .choice > .choice-label + :last-child { border-radius: 6px; }
.view .choice button:hover { background: var(--raised); border-color: var(--edge); }
.view .choice button[aria-pressed=true] { background: var(--link); border-color: var(--link); color: var(--surface); }
.view .devices { margin-bottom: 10px; }
.view button:focus-visible, .view select:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px;
  position: relative; z-index: 1; }
.view .surface { position: relative; min-width: 240px; }
.view .surface > canvas { position: absolute; max-width: none; }
.view .surface > canvas[role=img] { inset: 0; width: 100%; height: 100%; touch-action: pan-y; cursor: crosshair; }
.view .surface > canvas:focus-visible { outline: 2px solid var(--focus); outline-offset: 3px; border-radius: 2px; }
.view .overview { margin-bottom: 6px; }
.view .chart-and-list { display: flex; flex-wrap: wrap; gap: 4px 28px; align-items: flex-start; }
.view .chart { flex: 1 1 560px; min-width: 0; }
.view .list { flex: 0 0 248px; }
.view .at-cursor { border-collapse: collapse; width: 100%; margin: 0; font-size: 12.5px; }
.view .at-cursor caption { text-align: left; padding: 0 0 4px; color: var(--muted); caption-side: top; font-size: inherit;
  font-weight: 400; }
.view .at-cursor th, .view .at-cursor td { border: 0; padding: 1.5px 0; font-weight: 400; text-align: left;
  background: none; color: var(--ink); white-space: nowrap; font-size: inherit; }
.view .at-cursor td { text-align: right; font-variant-numeric: tabular-nums; padding-left: 12px; }
.view .at-cursor .sum th, .view .at-cursor .sum td { font-weight: 600; border-top: 1px solid var(--edge);
  padding-top: 5px; }
.view .at-cursor .none th, .view .at-cursor .none td { color: var(--muted); }
.view .sign { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 9px;
  vertical-align: -1.5px; forced-color-adjust: none; print-color-adjust: exact; }
.view .sign.thin { height: 3px; vertical-align: 3px; border-radius: 0; }
.view .readout { margin: 0 0 8px; min-height: 1.45em; font-size: 13px; font-variant-numeric: tabular-nums; max-width: none; }
.view .note { margin: 6px 0 0; font-size: 12px; max-width: none; overflow-wrap: anywhere; }
.view .note:empty { display: none; }
.view .keys, .view .hint { margin: 6px 0 0; font-size: 11.5px; color: var(--muted); max-width: none; }
.view .pair-legend { margin: 0 0 6px; }
.unseen { position: absolute; width: 1px; height: 1px; min-height: 0; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; margin: 0; padding: 0; border: 0; }
@media print { .view .tools, .view .choice, .view .keys, .view .hint, .view .overview { display: none; } }
@media (forced-colors: active) {
  .view .choice button[aria-pressed=true] { outline: 2px solid Highlight; outline-offset: -3px; }
}
`;
