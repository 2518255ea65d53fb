/**
 * Style of the address map, the segments, the flame and the lifetimes, with the variables of the page. Classes that all
 * views use (`surface`, `tools`, `choice`, `tip`, `note`, `keys`) are styled elsewhere.
 */
export const MAP_STYLE = `
.headline { margin: 0.2rem 0 0.5rem; font-variant-numeric: tabular-nums; max-width: none; }
.view .legend { display: flex; flex-wrap: wrap; gap: 0.15rem 1.1rem; margin: 0.5rem 0 0; font-size: 0.82rem; }
.legend-item { display: inline-flex; align-items: center; gap: 0.4rem; white-space: nowrap; color: var(--muted); }
.legend-swatch { width: 12px; height: 12px; border-radius: 3px; forced-color-adjust: none; }
.legend-ramp { width: 120px; height: 10px; border-radius: 3px; forced-color-adjust: none; }
.tip-title { font-weight: 650; }
.flame { position: relative; }
.flame-scroll { max-height: 30rem; overflow-y: auto; scrollbar-width: thin; }
.partial:empty { display: none; }
.partial {
  display: flex; flex-wrap: wrap; align-items: center; gap: 0.3rem 1rem; margin: 0 0 0.7rem; padding: 0.4rem 0.8rem;
  border-radius: 6px; background: var(--unsure-soft);
}
.partial .note { color: var(--ink); margin: 0; max-width: none; }
.partial button {
  padding: 0.2rem 0.7rem; border: 1px solid var(--edge); border-radius: 6px; background: var(--surface);
  color: var(--ink); font: inherit; font-size: 0.87rem; cursor: pointer;
}
.lists {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 0.2rem 2rem;
  margin-top: 0.6rem; font-size: 0.87rem;
}
.lists > div { min-width: 0; }
.lists h3 { margin: 0.7rem 0 0.2rem; }
.lists ol { margin: 0; padding-left: 1.4rem; font-variant-numeric: tabular-nums; }
.lists li { overflow-wrap: anywhere; }
.lists li::marker { color: var(--muted); }
button.stack {
  padding: 0; border: 0; background: none; color: var(--link); font: inherit; text-align: left; cursor: pointer;
  overflow-wrap: anywhere;
}
@media print { .flame-scroll { max-height: none; overflow: visible; } .partial button { display: none; } }
button.stack:hover { text-decoration: underline; }
button.stack[aria-pressed="true"] { font-weight: 650; text-decoration: underline; }
`;
