/** Two runs' steps side by side. */
import { pushAll } from '../../../model/lists.js';
import type { NsysComparison } from '../../../model/results/nsys.js';
import { left, printable, right, tableOf } from '../../table.js';
import { labelled, shortText, UNKNOWN } from '../../text-pieces.js';
import { duration, more, type NsysLook, signed } from './pieces.js';

export function comparisonLines(
  { a, b, devices, kernels, memory_calls, warnings }: NsysComparison,
  { limit }: NsysLook,
): string[] {
  const lines = [`steps of ${printable(b)} less those of ${printable(a)}`];
  for (const warning of warnings) pushAll(lines, labelled('beware', printable(warning)));
  for (const { rank, a_device, b_device, figures } of devices) {
    const who = rank === null ? `device ${a_device ?? UNKNOWN} and device ${b_device ?? UNKNOWN}` : `rank ${rank}`;
    lines.push(
      '',
      `  ${who}`,
      tableOf(
        // Neither run copied or communicated: nothing to compare.
        figures.filter(({ a_ns, b_ns }) => a_ns !== 0 || b_ns !== 0),
        [
          left(
            'a step',
            ({ figure }) =>
              figure.replace('exposed_', '').replaceAll('_', ' ') +
              (figure.startsWith('exposed_')
                ? ' alone'
                : figure === 'communication' || figure === 'copy'
                  ? ' in all'
                  : ''),
          ),
          right(printable(a), ({ a_ns }) => duration(a_ns)),
          right(printable(b), ({ b_ns }) => duration(b_ns)),
          right('change', ({ delta_ns }) => signed(delta_ns)),
          right('', ({ a_ns, delta_ns }) =>
            a_ns > 0 ? `${delta_ns >= 0 ? '+' : ''}${((100 * delta_ns) / a_ns).toFixed(1)} %` : 'new',
          ),
        ],
        '    ',
      ),
    );
  }
  const moved = kernels.filter(({ delta_ns }) => delta_ns !== 0);
  if (moved.length > 0) {
    pushAll(lines, [
      '',
      tableOf(moved.slice(0, limit), [
        right('change', ({ delta_ns }) => signed(delta_ns)),
        right('time', ({ a_per_step_ns }) => duration(a_per_step_ns)),
        right('', ({ b_per_step_ns }) => duration(b_per_step_ns)),
        right('launches', ({ a_per_step }) => a_per_step.toFixed(1)),
        right('', ({ b_per_step }) => b_per_step.toFixed(1)),
        left('kernel', ({ name }) => shortText(name, 40)),
      ]),
      ...more(moved.length, limit),
    ]);
  }
  const calls = memory_calls.filter(({ a_per_step, b_per_step }) => (a_per_step ?? 0) > 0 || (b_per_step ?? 0) > 0);
  for (const { api, a_per_step, b_per_step } of calls.slice(0, limit)) {
    const times = (value: number | null): string => (value === null ? 'an unknown number' : value.toFixed(1));
    pushAll(lines, labelled('calls', `${printable(api)}: ${times(a_per_step)} a step, then ${times(b_per_step)}`));
  }
  return lines;
}
