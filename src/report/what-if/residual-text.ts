/** Measured minus estimated, the most surprising first. */
import { groupBy } from '../../model/group-by.js';
import type { ComponentResidual, DeviceResidual, LineResidual, ResidualResult } from '../../model/results/residual.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { keepEnd, left, printable, right, tableOf } from '../table.js';
import { afterEntry, labelledList, paragraph, rankName, signedBytes, UNKNOWN, wrapped } from '../text-pieces.js';

export function residualText(result: ResidualResult): string {
  const { run, no_estimate, devices, lines } = result;
  if (no_estimate !== null)
    return `${paragraph(`run ${printable(run)}: no estimate to compare with: ${no_estimate}`).join('\n')}\n`;
  const blocks = devices.map(deviceText);
  for (const { path, device, reason } of result.left_out)
    blocks.push(paragraph(`${printable(path)} device ${device}: ${reason}`).join('\n'));
  if (lines.length > 0) blocks.push(linesText(lines));
  if (blocks.length === 0) blocks.push('no snapshot of a known stage and no memory line to compare with');
  blocks.push(
    labelledList('assumed', result.assumptions, 14).join('\n'),
    wrapped(
      '  theory alone never shows why a run failed: a published run was estimated at 73.8 GiB and took 54.8',
    ).join('\n'),
  );
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`;
}

function deviceText(device: DeviceResidual): string {
  const rank = rankName(device.rank);
  const stage = device.stage === null ? '' : ` · stage ${device.stage}`;
  const first = device.before_first_step ? ', before the first step of the optimizer' : '';
  const at = afterEntry(device.seq);
  const unknown =
    device.unknown_bytes === 0
      ? []
      : wrapped(`  ${formatBytes(device.unknown_bytes)} measured are of an unknown component`, '  ');
  return [
    `${printable(device.path)} · ${rank}${stage} · device ${device.device}`,
    ...wrapped(
      `  at ${device.moment}, ${at} (${device.phase.replaceAll('_', ' ')}): ${formatBytes(device.measured_bytes)} live against ${formatBytes(device.estimated_bytes)} estimated for the ${device.estimate_moment.replaceAll('_', ' ')}${first}`,
    ),
    tableOf(device.components, [
      right('residual', (row) => signedBytes(row.residual_bytes)),
      right('measured', (row) => formatBytes(row.measured_bytes)),
      right('estimated', (row) => formatBytes(row.estimated_bytes)),
      right('bounds, GiB', bounds),
      right('outside them', (row) => (row.surprise_bytes === 0 ? 'within' : signedBytes(row.surprise_bytes))),
      left('component', (row) => row.component),
    ]),
    ...unknown,
    ...device.components
      .filter(({ reading }) => reading !== null)
      .flatMap((row) => paragraph(`  ${row.component.replaceAll('_', ' ')}: ${row.reading}`)),
  ].join('\n');
}

const gib = (bytes: number): string => (bytes / 2 ** 30).toFixed(2);

function bounds({ low_bytes, high_bytes }: Pick<ComponentResidual, 'low_bytes' | 'high_bytes'>): string {
  return `${gib(low_bytes)}–${gib(high_bytes)}`;
}

/** What the place of a line may take. */
const PLACE = 20;

/** Of each stage the rank that differs most. */
function linesText(lines: readonly LineResidual[]): string {
  const groups = [...groupBy(lines, ({ stage, metric }) => `${stage} ${metric}`).values()].map((own) => ({
    ranks: own.length,
    most: own.reduce((a, b) => (Math.abs(b.residual_bytes) > Math.abs(a.residual_bytes) ? b : a)),
  }));
  const drawn = tableOf(
    groups,
    [
      right('PP', ({ most }) => most.stage ?? UNKNOWN),
      right('ranks', ({ ranks }) => formatCount(ranks)),
      right('rank', ({ most }) => most.rank ?? UNKNOWN),
      left('printed', ({ most }) => most.metric.replace('_', ' ')),
      right('residual', ({ most }) => signedBytes(most.residual_bytes)),
      right('measured', ({ most }) => formatBytes(most.measured_bytes)),
      right('estimate', ({ most }) => formatBytes(most.estimated_bytes)),
      right('bounds, GiB', ({ most }) => bounds(most)),
      left('where', ({ most }) => keepEnd(`${most.file}:${most.line}`, PLACE)),
    ],
    ' ',
  );
  return ["memory lines, of PyTorch's allocator; of each stage the rank that differs most", drawn].join('\n');
}
