/** Theoretical memory: stages, components, the total, whether it fits, and what was assumed. */

import type * as results from '../../model/results/estimate.js';
import * as d from '../document/document.js';
import { wordOf } from '../words/fill.js';
import { textMaker } from '../words/fill-pieces.js';

/** Most stages on a screen. */
const MOST_STAGES = 8;

const textOf = textMaker('estimate', 'screen');

export function estimateDocument(result: results.EstimateResult): d.Document {
  const { schema, run, model, hottest_stage: hottest, change, printed, device } = result;
  const [total, low, high] = [result.total_bytes, result.low_bytes, result.high_bytes].map(Math.round) as [
    number,
    number,
    number,
  ];
  const hot = result.stages.find(({ stage }) => stage === hottest);
  return {
    ...d.document(
      schema,
      d.t`${run === null ? 'given inputs' : d.as('run', d.code(run))} · ${d.as('model', model)} · one GPU`,
      stageTable(result),
      componentTable(result),
      d.facts([
        d.fact('total', low === high ? d.bytes(total) : d.t`${d.bytes(total)}, ${d.bytes(low)} to ${d.bytes(high)}`),
        hot !== undefined && d.fact('pytorch', textOf('pytorch', hot), { title: 'PyTorch' }),
        device !== null && d.fact('device', deviceText(device, low < high)),
        printed !== null && d.fact('prints', printed.log_lines.at(-1) ?? null),
        printed !== null && printed.api_line !== null && d.fact('api', printed.api_line, { title: 'API' }),
      ]),
      change !== null && changeSection(change, hottest),
      d.itemSection('Assumed', 'assumptions', result.assumptions),
      d.itemSection('Not modelled', 'not_modelled', result.not_modelled),
    ),
    fields: {
      ...{ total_bytes: total, low_bytes: low, high_bytes: high, hottest_stage: hottest },
      ...(device === null
        ? {}
        : { fits: device.fits, device_bytes: device.total_bytes, headroom_bytes: Math.round(device.headroom_bytes) }),
    },
  };
}

const momentName = wordOf('codes', 'estimate_moments');

/** The first, the last, and between them the hottest: of more stages than fit. */
function shownStages({ stages, hottest_stage: hottest }: results.EstimateResult): readonly results.EstimateStage[] {
  if (stages.length <= MOST_STAGES) return stages;
  const shown = new Set([hottest ?? 0, stages.length - 1]);
  for (let stage = 0; shown.size < MOST_STAGES; stage += 1) shown.add(stage);
  return stages.filter(({ stage }) => shown.has(stage));
}

const STATE = ['parameter', 'gradient', 'optimizer_state', 'fp8_buffer'];

function stageTable(result: results.EstimateResult): d.MaybePart {
  const shown = shownStages(result);
  const sum = (stage: results.EstimateStage, isOf: (name: string) => boolean): number =>
    Math.round(stage.components.reduce((bytes, one) => bytes + (isOf(one.name) ? one.bytes : 0), 0));
  const isState = (name: string): boolean => STATE.includes(name);
  const hidden = result.stages.length - shown.length;
  return d.table(
    shown,
    [
      'stage',
      d.counts('layers', ({ layers, moe_layers: moe }) => (moe > 0 ? `${layers} (${moe} MoE)` : layers)),
      d.counts('in_flight', (stage) => Number(stage.in_flight.toFixed(2))),
      d.column('state_bytes', (stage) => sum(stage, isState)),
      d.column('activation_bytes', (stage) => sum(stage, (name) => name === 'activation')),
      d.column('other_bytes', (stage) => sum(stage, (name) => !isState(name) && name !== 'activation')),
      d.column('total_bytes', (stage) => Math.round(stage.total_bytes)),
      d.column('allocated_bytes', (stage) => Math.round(stage.allocated_bytes), { title: 'PyTorch' }),
      d.column('moment', ({ moment }) => momentName(moment), { title: 'highest in' }),
    ],
    { key: 'stages', notes: [hidden > 0 && d.t`${hidden} stages between are left out; --json=full lists all`] },
  );
}

type Sized = Pick<results.EstimateComponent, 'bytes' | 'low_bytes' | 'high_bytes'>;

function componentTable({ components, hottest_stage: stage }: results.EstimateResult): d.MaybePart {
  const rows = components.flatMap((one): { component: string; part: string | null; size: Sized }[] => {
    const parts = one.parts.map((part) => ({
      component: one.name,
      part: `${part.name}${part.outside_pytorch ? ' (outside PyTorch)' : ''}`,
      size: part,
    }));
    if (parts.length === 1) return parts;
    return [{ component: one.name, part: parts.length === 0 ? null : 'all', size: one }, ...parts];
  });
  const hasParts = rows.some(({ part }) => part !== null);
  return d.table(
    rows,
    [
      d.column('component', (row) => row.component, stage === null ? {} : { title: `component of stage ${stage}` }),
      hasParts && d.column('part', ({ part }) => part ?? ''),
      d.column('bytes', ({ size }) => Math.round(size.bytes), { title: 'size' }),
      hasParts && d.column('low_bytes', ({ size }) => Math.round(size.low_bytes), { title: 'at least' }),
      hasParts && d.column('high_bytes', ({ size }) => Math.round(size.high_bytes), { title: 'at most' }),
    ],
    { key: 'components' },
  );
}

const fitsText = wordOf('codes', 'fits');

const deviceText = (device: results.EstimateDevice, hasBounds: boolean): d.Text =>
  textOf('device', device, {
    answer: hasBounds ? fitsText(device.fits) : null,
    short_bytes: device.headroom_bytes < 0 && Math.round(-device.headroom_bytes),
    spare_bytes: Math.round(device.headroom_bytes),
  });

function changeSection(change: results.EstimateChange, hottest: number | null): d.MaybePart {
  const { base_hottest_stage: before, moment, base_moment: baseMoment } = change;
  const word = (value: unknown): string => (value === null ? 'not set' : JSON.stringify(value));
  const inWords = (inputs: results.EstimateChange['set']): string =>
    inputs.map(({ key, from, to }) => `${key} ${word(from)} → ${word(to)}`).join(' · ');
  const changed = change.components.filter(({ delta_bytes: delta }) => Math.round(delta) !== 0);
  const rows = [
    ...changed,
    { name: 'total', base_bytes: change.base_total_bytes, bytes: change.total_bytes, delta_bytes: change.delta_bytes },
  ];
  return d.section(
    `Changed: ${inWords(change.set)}${change.followed.length === 0 ? '' : `; with it ${inWords(change.followed)}`}`,
    { key: 'change' },
    hottest !== before && d.note(d.t`the hottest stage was ${before ?? 'unknown'}, is now ${hottest ?? 'unknown'}`),
    moment !== null &&
      baseMoment !== null &&
      moment !== baseMoment &&
      d.note(
        `the peak was in the ${momentName(baseMoment)}, is now in the ${momentName(moment)}, which holds other things`,
      ),
    d.table(
      rows,
      [
        d.column('name', ({ name }) => name, { title: 'component' }),
        d.column('base_bytes', (row) => Math.round(row.base_bytes), { title: 'before' }),
        d.column('bytes', (row) => Math.round(row.bytes), { title: 'after' }),
        d.column('delta_bytes', (row) => d.changeBytes(Math.round(row.delta_bytes)), { title: 'change' }),
      ],
      { key: 'components', kind: (_, i) => (i === changed.length ? 'sum' : undefined) },
    ),
  );
}
