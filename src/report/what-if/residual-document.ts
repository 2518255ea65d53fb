/** Measured minus estimated, the most surprising first. */
import { groupBy } from '../../model/group-by.js';
import { maxBy } from '../../model/lists.js';
import type { ComponentResidual, DeviceResidual, LineResidual, ResidualResult } from '../../model/results/residual.js';
import * as d from '../document/document.js';
import { afterEntry, plain } from '../text-pieces.js';

export function residualDocument(result: ResidualResult): d.Document {
  const { schema, run, no_estimate: why, devices, left_out: leftOut, lines } = result;
  if (why !== null)
    return d.document(
      schema,
      '',
      d.paragraph(d.t`run ${d.as('run', d.code(run))}: no estimate to compare with: ${why}`),
    );
  const isEmpty = devices.length + leftOut.length + lines.length === 0;
  return {
    ...d.document(
      schema,
      '',
      ...devices.map(deviceSection),
      d.itemSection(
        'Left out',
        'left_out',
        leftOut.map(({ path, device, reason }) => d.t`${d.code(path)} device ${device}: ${reason}`),
      ),
      lineSection(lines),
      isEmpty && d.paragraph('no snapshot of a known stage and no memory line to compare with'),
      d.itemSection('Assumed', 'assumptions', result.assumptions),
    ),
    fields: { run },
  };
}

type Residual = LineResidual | ComponentResidual;

const FIGURES = [
  d.column('residual_bytes', (row: Residual) => d.changeBytes(row.residual_bytes)),
  d.column('measured_bytes', (row: Residual) => row.measured_bytes),
  d.column('estimated_bytes', (row: Residual) => row.estimated_bytes),
];
/** How far outside of the bounds. */
const SURPRISE = d.column(
  'surprise_bytes',
  (row: Residual) => (row.surprise_bytes === 0 ? d.shownAs(0, 'within', 'bytes') : d.changeBytes(row.surprise_bytes)),
  { title: 'outside bounds' },
);

function deviceSection(one: DeviceResidual): d.MaybePart {
  const { path, rank, stage, device, components, unknown_bytes: unknown, moment, phase } = one;
  return d.section(
    d.joined(
      [
        d.as('path', d.code(path)),
        rank !== null && d.t`rank ${d.as('rank', d.count(rank))}`,
        stage !== null && d.t`stage ${d.as('stage', d.count(stage))}`,
        d.t`device ${d.as('device', d.count(device))}`,
      ],
      ' · ',
    ),
    { key: 'devices', isOneOf: true, fields: { handle: one.handle, moment, seq: one.seq, phase } },
    d.paragraph(
      d.t`at ${moment}, ${afterEntry(one.seq)} (${plain(phase)}): ${d.as('measured_bytes', d.bytes(one.measured_bytes))} live against ${d.as('estimated_bytes', d.bytes(one.estimated_bytes))} estimated for the ${plain(one.estimate_moment)}${one.before_first_step ? ', before the first step of the optimizer' : ''}`,
    ),
    d.table(
      components,
      [
        ...FIGURES,
        d.column('low_bytes', (row) => row.low_bytes, { title: 'at least' }),
        d.column('high_bytes', (row) => row.high_bytes, { title: 'at most' }),
        SURPRISE,
        'component',
      ],
      { key: 'components' },
    ),
    unknown > 0 && d.note(d.t`${d.as('unknown_bytes', d.bytes(unknown))} measured are of an unknown component`),
    d.items(
      components.flatMap(({ component, reading }) => (reading === null ? [] : [`${plain(component)}: ${reading}`])),
      { key: 'readings' },
    ),
  );
}

/** Of each stage the rank that differs most. */
function lineSection(lines: readonly LineResidual[]): d.MaybePart {
  const groups = [...groupBy(lines, ({ stage, metric }) => `${stage} ${metric}`).values()].map((ofStage) => ({
    ...maxBy(ofStage, (line) => Math.abs(line.residual_bytes))!,
    ranks: ofStage.length,
  }));
  const files = new Set(groups.map(({ file }) => file));
  return d.section(
    "Memory lines, of PyTorch's allocator; of each stage the rank that differs most",
    { about: files.size === 1 ? [...files][0] : null },
    d.table(
      groups,
      [
        'stage',
        'ranks',
        'rank',
        d.column('metric', (row) => plain(row.metric), { title: 'printed' }),
        ...FIGURES,
        SURPRISE,
        'line',
        files.size > 1 && 'file',
      ],
      { key: 'lines' },
    ),
  );
}
