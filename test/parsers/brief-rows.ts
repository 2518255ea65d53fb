/** Rows of a parser as short texts, one a row. */
import type { KeptFinding, LogPlace } from '../../src/model/log-rows.js';
import type { PlacedFinding } from '../support/collect-rows.js';

type Row<Kind extends KeptFinding['row']> = Extract<KeptFinding, { row: Kind }>;

function setting(finding: KeptFinding, { line }: LogPlace): string | undefined {
  if (finding.row === 'config') return `${finding.key}=${finding.value}@${line}`;
  return finding.row === 'env' ? `$${finding.key}=${finding.value}@${line}` : undefined;
}

function iteration({ row: _, iteration, target, others = [], ...fields }: Row<'iteration'>): string {
  const figures = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
  const more = others.map(({ name, value }) => `${name}=${value}`);
  return [target === null ? iteration : `${iteration}/${target}`, ...figures, ...more].join(' ');
}

/** By the name that samples have for them; undefined for rows of other kinds. */
const BRIEF = {
  gauges: (row: KeptFinding) =>
    row.row === 'gauge' ? `${row.device ?? row.gpuId ?? '-'} ${row.metric} ${row.bytes}` : undefined,
  /** Gauges of hosts and their processes. */
  processes: (row: KeptFinding, { host }: LogPlace) =>
    row.row === 'gauge' ? `${row.process} ${row.metric} ${row.bytes} ${host ?? '-'}` : undefined,
  values: (row: KeptFinding) =>
    row.row === 'value'
      ? `${row.device ?? '-'} ${row.name} ${row.value ?? row.text} ${row.unit ?? ''}`.trim()
      : undefined,
  /** Values of steps. */
  scalars: (row: KeptFinding) =>
    row.row === 'value' ? `${row.name} ${row.value} @${row.iteration ?? '-'}` : undefined,
  settings: setting,
  memory: (row: KeptFinding) =>
    row.row === 'memory' ? `${row.metric} ${row.bytes} ±${row.precisionBytes} @${row.iteration}` : undefined,
  /** What was measured, by whom, and when. */
  places: (row: KeptFinding, { rank, host }: LogPlace) => {
    if (row.row !== 'memory') return undefined;
    return [row.metric, rank === null ? '' : `rank ${rank}`, host === null ? '' : `on ${host}`, row.moment ?? '']
      .filter((word) => word !== '')
      .join(' ');
  },
  metrics: (row: KeptFinding) => (row.row === 'memory' ? row.metric : undefined),
  iterations: (row: KeptFinding) => (row.row === 'iteration' ? iteration(row) : undefined),
} as const;
export type Brief = keyof typeof BRIEF;

/** All rows of a kind, in their order. */
export const briefRows = (rows: readonly PlacedFinding[], kind: Brief): string[] =>
  rows.map(({ finding, place }) => BRIEF[kind](finding, place)).filter((text) => text !== undefined);
