/** Two runs' steps side by side. */
import type { NsysBudgetDelta, NsysComparison } from '../../../model/results/nsys.js';
import { code, column, fieldsOf, items, type MaybePart, names, section, t, table } from '../../document/document.js';
import { excerpt } from '../../document/values.js';
import { plain } from '../../text-pieces.js';
import { left, limited, type NsysLook } from './pieces.js';

export function comparisonSection({ a, b, ...compared }: NsysComparison, { limit }: NsysLook): MaybePart {
  const moved = compared.kernels.filter(({ delta_ns: delta }) => delta !== 0);
  const calls = compared.memory_calls.filter(
    ({ a_per_step: before, b_per_step: after }) => (before ?? 0) > 0 || (after ?? 0) > 0,
  );
  return section(
    t`Steps of ${code(b)} less those of ${code(a)}`,
    { key: 'against', fields: { a, b } },
    items(
      compared.warnings.map((warning) => `beware: ${warning}`),
      { key: 'warnings' },
    ),
    ...compared.devices.map(({ rank, a_device, b_device, figures }) =>
      section(
        rank !== null ? t`Rank ${rank}` : `Device ${a_device ?? 'unknown'} and device ${b_device ?? 'unknown'}`,
        { key: 'devices', isOneOf: true, fields: { rank, a_device, b_device } },
        table(
          // Neither run copied or communicated: nothing to compare.
          figures.filter(({ a_ns: before, b_ns: after }) => before !== 0 || after !== 0),
          [
            column('figure', figureName, { title: 'a step' }),
            ...fieldsOf(figures, ['a_ns', a], ['b_ns', b], ['delta_ns', 'change']),
            column('delta_share', (row) => (row.a_ns > 0 ? row.delta_ns / row.a_ns : 'new'), {
              title: '',
              unit: 'change_share',
            }),
          ],
          { key: 'figures' },
        ),
      ),
    ),
    table(
      limited(moved, limit),
      [
        ...fieldsOf(moved, ['delta_ns', 'change'], ['a_per_step_ns', 'time'], ['b_per_step_ns', 'then']),
        ...fieldsOf(moved, ['a_per_step', 'launches'], ['b_per_step', 'then']),
        names('kernel', ({ name }) => excerpt(name)),
      ],
      { key: 'kernels', notes: left(moved, limit) },
    ),
    table(
      limited(calls, limit),
      [
        names('call', ({ api }) => api, { title: 'calls for memory' }),
        ...fieldsOf(calls, ['a_per_step', 'a step'], ['b_per_step', 'then']),
      ],
      { key: 'memory_calls', notes: left(calls, limit) },
    ),
  );
}

function figureName({ figure }: NsysBudgetDelta): string {
  if (figure.startsWith('exposed_')) return `${plain(figure.replace('exposed_', ''))} alone`;
  return figure === 'communication' || figure === 'copy' ? `${figure} in all` : plain(figure);
}
