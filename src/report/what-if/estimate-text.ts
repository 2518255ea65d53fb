/** `estimate` as text: a table of stages and components, the total, whether it fits, and the inputs. */
import { pushAll } from '../../model/lists.js';
import type {
  EstimateChange,
  EstimateComponent,
  EstimateDevice,
  EstimateResult,
  EstimateStage,
} from '../../model/results/estimate.js';
import { formatBytes, formatCount, GIB } from '../../model/units.js';
import { left, printable, right, table, tableOf } from '../table.js';
import { labelled, labelledList, paragraph, UNKNOWN } from '../text-pieces.js';

/** Most stages on a screen; --json has all of them. */
const MOST_STAGES = 8;

export function estimateText(result: EstimateResult): string {
  const of = result.run === null ? 'given inputs' : printable(result.run);
  const lines = [`${of} · ${result.model} · one GPU`, ''];
  if (result.stages.length > 0) lines.push(stageTable(result), '');
  lines.push(componentTable(result.components, result.hottest_stage), '');
  pushAll(lines, totalLines(result));
  if (result.device !== null) pushAll(lines, deviceLines(result.device, result.low_bytes < result.high_bytes));
  if (result.change !== null) lines.push('', changeTable(result.change, result.hottest_stage));
  if (result.printed !== null) {
    const { log_lines, api_line } = result.printed;
    pushAll(lines, labelled('prints', log_lines.at(-1) ?? UNKNOWN));
    if (api_line !== null) pushAll(lines, labelled('API', api_line));
  }
  pushAll(lines, ['', ...sentences('assumed', result.assumptions), ...sentences('not modelled', result.not_modelled)]);
  return `${lines.join('\n')}\n`;
}

function gib(bytes: number): string {
  return (bytes / GIB).toFixed(2);
}

const MOMENTS: Readonly<Record<EstimateStage['moment'], string>> = {
  forward: 'loss',
  backward: 'backward pass',
  optimizer_step: 'optimizer step',
};

/** The first, the last, and between them the hottest: of more stages than fit. */
function shownStages({ stages, hottest_stage }: EstimateResult): readonly EstimateStage[] {
  if (stages.length <= MOST_STAGES) return stages;
  const shown = new Set([hottest_stage ?? 0, stages.length - 1]);
  for (let stage = 0; shown.size < MOST_STAGES; stage += 1) shown.add(stage);
  return stages.filter(({ stage }) => shown.has(stage));
}

function stageTable(result: EstimateResult): string {
  const shown = shownStages(result);
  const state = ['parameter', 'gradient', 'optimizer_state', 'fp8_buffer'];
  const of = (stage: EstimateStage, names: readonly string[]): number =>
    stage.components.filter(({ name }) => names.includes(name)).reduce((sum, { bytes }) => sum + bytes, 0);
  const activations = (stage: EstimateStage): number => of(stage, ['activation']);
  const drawn = tableOf(shown, [
    left('stage', ({ stage }) => `${stage}${stage === result.hottest_stage ? ' *' : ''}`),
    right('layers', ({ layers, moe_layers }) => (moe_layers > 0 ? `${layers} (${moe_layers} MoE)` : layers)),
    right('in flight', (stage) => Number(stage.in_flight.toFixed(2))),
    right('state', (stage) => gib(of(stage, state))),
    right('activation', (stage) => gib(activations(stage))),
    right('rest', (stage) => gib(stage.total_bytes - of(stage, state) - activations(stage))),
    right('GiB', (stage) => gib(stage.total_bytes)),
    right('bounds', (stage) => `${gib(stage.low_bytes)}–${gib(stage.high_bytes)}`),
    right('PyTorch', (stage) => gib(stage.allocated_bytes)),
    left('at its most in', (stage) => MOMENTS[stage.moment]),
  ]);
  const hidden = result.stages.length - shown.length;
  return hidden === 0 ? drawn : `${drawn}\n  ${formatCount(hidden)} stages between are left out; --json has them`;
}

function componentTable(components: readonly EstimateComponent[], stage: number | null): string {
  const hasBounds = components.some(({ parts }) => parts.length > 0);
  const rows = components.flatMap((component) => {
    const cells = (name: string, of: { bytes: number; low_bytes: number; high_bytes: number }): string[] => [
      name,
      formatBytes(Math.round(of.bytes)),
      ...(hasBounds ? [`${gib(of.low_bytes)}–${gib(of.high_bytes)}`] : []),
    ];
    if (component.parts.length === 1)
      return [cells(`${component.name}: ${component.parts[0]!.name}${outside(component.parts[0]!)}`, component)];
    return [
      cells(component.name, component),
      ...component.parts.map((one) => cells(`  ${one.name}${outside(one)}`, one)),
    ];
  });
  const title = stage === null ? 'component' : `component of stage ${stage}`;
  return table([left(title), right('bytes'), ...(hasBounds ? [right('bounds in GiB')] : [])], rows, '  ');
}

function outside({ outside_pytorch }: { readonly outside_pytorch: boolean }): string {
  return outside_pytorch ? ' (outside PyTorch)' : '';
}

function totalLines(result: EstimateResult): string[] {
  const hot = result.stages.find(({ stage }) => stage === result.hottest_stage);
  const bounds =
    result.low_bytes === result.high_bytes
      ? ''
      : `, ${formatBytes(Math.round(result.low_bytes))} to ${formatBytes(Math.round(result.high_bytes))}`;
  const lines = labelled('total', `${formatBytes(Math.round(result.total_bytes))}${bounds}`);
  if (hot === undefined) return lines;
  return [
    ...lines,
    ...labelled(
      'PyTorch',
      `peak allocated ${formatBytes(Math.round(hot.allocated_bytes))}, ${formatBytes(Math.round(hot.first_step_allocated_bytes))} in the first step; ${formatBytes(Math.round(hot.resident_bytes))} stays between steps`,
    ),
  ];
}

const FITS: Readonly<Record<EstimateDevice['fits'], string>> = {
  yes: 'fits, even by the upper bound',
  no: 'does not fit, not even by the lower bound',
  unsure: 'may or may not fit: the bounds are on both sides',
};

function deviceLines(device: EstimateDevice, hasBounds: boolean): string[] {
  const fits = hasBounds ? FITS[device.fits] : `${device.fits === 'yes' ? 'fits' : 'does not fit'} by this formula`;
  const headroom =
    device.headroom_bytes < 0
      ? `${formatBytes(Math.round(-device.headroom_bytes))} short`
      : `headroom ${formatBytes(Math.round(device.headroom_bytes))}`;
  return labelled(
    'device',
    `${formatBytes(device.total_bytes)} (${printable(device.source)}): ${fits}; ${headroom}, before fragmentation`,
  );
}

function signed(bytes: number): string {
  const rounded = Math.round(bytes);
  return rounded < 0 ? `−${formatBytes(-rounded)}` : `+${formatBytes(rounded)}`;
}

function changeTable(change: EstimateChange, hottest: number | null): string {
  const word = (value: unknown): string => (value === null ? 'not set' : printable(JSON.stringify(value)));
  const inWords = (inputs: EstimateChange['set']): string =>
    inputs.map(({ key, from, to }) => `${key} ${word(from)} → ${word(to)}`).join(' · ');
  const followed = change.followed.length === 0 ? '' : `; with it ${inWords(change.followed)}`;
  const notes = [
    hottest === change.base_hottest_stage
      ? ''
      : `the hottest stage was ${change.base_hottest_stage ?? UNKNOWN}, is now ${hottest ?? UNKNOWN}`,
    change.moment === null || change.base_moment === null || change.moment === change.base_moment
      ? ''
      : `the peak was in the ${MOMENTS[change.base_moment]}, is now in the ${MOMENTS[change.moment]}, which holds other things`,
  ].filter((note) => note !== '');
  const moved = notes.length === 0 ? '' : ` (${notes.join('; ')})`;
  const total = {
    name: 'total',
    base_bytes: change.base_total_bytes,
    bytes: change.total_bytes,
    delta_bytes: change.delta_bytes,
  };
  const changed = change.components.filter(({ delta_bytes }) => Math.round(delta_bytes) !== 0);
  return [
    ...paragraph(`  changed: ${inWords(change.set)}${followed}${moved}`),
    tableOf(
      [...changed, total],
      [
        left('component', ({ name }) => name),
        right('before', ({ base_bytes }) => formatBytes(Math.round(base_bytes))),
        right('after', ({ bytes }) => formatBytes(Math.round(bytes))),
        right('change', ({ delta_bytes }) => signed(delta_bytes)),
      ],
    ),
  ].join('\n');
}

function sentences(label: string, texts: readonly string[]): string[] {
  return labelledList(
    label,
    texts.map((text) => `· ${printable(text)}`),
    14,
  );
}
