/** Measured minus estimated, the most surprising first. */
import { groupBy } from '../../model/group-by.js';
import { maxBy } from '../../model/lists.js';
import type { ComponentResidual, DeviceResidual, LineResidual, ResidualResult } from '../../model/results/residual.js';
import {
  as,
  bytes,
  changeBytes,
  code,
  column,
  count,
  type Document,
  document,
  itemSection,
  items,
  joined,
  type MaybePart,
  note,
  paragraph,
  section,
  t,
  table,
} from '../document/document.js';
import { afterEntry, plain } from '../text-pieces.js';

export function residualDocument(result: ResidualResult): Document {
  const { schema, run, no_estimate: why, devices, left_out: leftOut, lines } = result;
  if (why !== null)
    return document(schema, '', paragraph(t`run ${as('run', code(run))}: no estimate to compare with: ${why}`));
  const isEmpty = devices.length + leftOut.length + lines.length === 0;
  return {
    ...document(
      schema,
      '',
      ...devices.map(deviceSection),
      itemSection(
        'Left out',
        'left_out',
        leftOut.map(({ path, device, reason }) => t`${code(path)} device ${device}: ${reason}`),
      ),
      lineSection(lines),
      isEmpty && paragraph('no snapshot of a known stage and no memory line to compare with'),
      itemSection('Assumed', 'assumptions', result.assumptions),
      paragraph('theory alone never shows why a run failed: a published run was estimated at 73.8 GiB and took 54.8'),
    ),
    fields: { run },
  };
}

type Residual = LineResidual | ComponentResidual;

const FIGURES = [
  column('residual_bytes', (row: Residual) => changeBytes(row.residual_bytes)),
  column('measured_bytes', (row: Residual) => row.measured_bytes),
  column('estimated_bytes', (row: Residual) => row.estimated_bytes),
];
/** How far outside of the bounds. */
const SURPRISE = column(
  'surprise_bytes',
  (row: Residual) => (row.surprise_bytes === 0 ? 'within' : changeBytes(row.surprise_bytes)),
  { title: 'outside bounds' },
);

function deviceSection(one: DeviceResidual): MaybePart {
  const { path, rank, stage, device, components, unknown_bytes: unknown, moment, phase } = one;
  return section(
    joined(
      [
        as('path', code(path)),
        rank !== null && t`rank ${as('rank', count(rank))}`,
        stage !== null && t`stage ${as('stage', count(stage))}`,
        t`device ${as('device', count(device))}`,
      ],
      ' · ',
    ),
    { key: 'devices', isOneOf: true, fields: { handle: one.handle, moment, seq: one.seq, phase } },
    paragraph(
      t`at ${moment}, ${afterEntry(one.seq)} (${plain(phase)}): ${as('measured_bytes', bytes(one.measured_bytes))} live against ${as('estimated_bytes', bytes(one.estimated_bytes))} estimated for the ${plain(one.estimate_moment)}${one.before_first_step ? ', before the first step of the optimizer' : ''}`,
    ),
    table(
      components,
      [
        ...FIGURES,
        column('low_bytes', (row) => row.low_bytes, { title: 'at least' }),
        column('high_bytes', (row) => row.high_bytes, { title: 'at most' }),
        SURPRISE,
        'component',
      ],
      { key: 'components' },
    ),
    unknown > 0 && note(t`${as('unknown_bytes', bytes(unknown))} measured are of an unknown component`),
    items(
      components.flatMap(({ component, reading }) => (reading === null ? [] : [`${plain(component)}: ${reading}`])),
      { key: 'readings' },
    ),
  );
}

/** Of each stage the rank that differs most. */
function lineSection(lines: readonly LineResidual[]): MaybePart {
  const groups = [...groupBy(lines, ({ stage, metric }) => `${stage} ${metric}`).values()].map((ofStage) => ({
    ...maxBy(ofStage, (line) => Math.abs(line.residual_bytes))!,
    ranks: ofStage.length,
  }));
  const files = new Set(groups.map(({ file }) => file));
  return section(
    "Memory lines, of PyTorch's allocator; of each stage the rank that differs most",
    { about: files.size === 1 ? [...files][0] : null },
    table(
      groups,
      [
        'stage',
        'ranks',
        'rank',
        column('metric', (row) => plain(row.metric), { title: 'printed' }),
        ...FIGURES,
        SURPRISE,
        'line',
        files.size > 1 && 'file',
      ],
      { key: 'lines' },
    ),
  );
}
