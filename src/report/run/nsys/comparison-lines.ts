/** Two runs' steps side by side. */
import { pushAll } from '../../../model/lists.js';
import type { NsysComparison } from '../../../model/results/nsys.js';
import { printable, table } from '../../table.js';
import { labelled, shortText, UNKNOWN } from '../../text-pieces.js';
import { duration, more, type NsysLook, right, signed } from './pieces.js';

export function comparisonLines(
  { a, b, devices, kernels, memory_calls, warnings }: NsysComparison,
  { limit }: NsysLook,
): string[] {
  const lines = [`steps of ${printable(b)} less those of ${printable(a)}`];
  for (const warning of warnings) pushAll(lines, labelled('beware', printable(warning)));
  for (const { rank, a_device, b_device, figures } of devices) {
    const who = rank === null ? `device ${a_device ?? UNKNOWN} and device ${b_device ?? UNKNOWN}` : `rank ${rank}`;
    const rows = figures.map(({ figure, a_ns, b_ns, delta_ns }) => [
      figure.replace('exposed_', '').replaceAll('_', ' ') +
        (figure.startsWith('exposed_') ? ' alone' : figure === 'communication' || figure === 'copy' ? ' in all' : ''),
      duration(a_ns),
      duration(b_ns),
      signed(delta_ns),
      a_ns > 0 ? `${delta_ns >= 0 ? '+' : ''}${((100 * delta_ns) / a_ns).toFixed(1)} %` : UNKNOWN,
    ]);
    lines.push(
      '',
      `  ${who}`,
      table([{ title: 'a step' }, right(printable(a)), right(printable(b)), right('change'), right('')], rows, '    '),
    );
  }
  const moved = kernels.filter(({ delta_ns }) => delta_ns !== 0);
  if (moved.length > 0) {
    const rows = moved
      .slice(0, limit)
      .map(({ name, a_per_step_ns, b_per_step_ns, delta_ns, a_per_step, b_per_step }) => [
        signed(delta_ns),
        duration(a_per_step_ns),
        duration(b_per_step_ns),
        a_per_step.toFixed(1),
        b_per_step.toFixed(1),
        shortText(name, 40),
      ]);
    pushAll(lines, [
      '',
      table([right('change'), right('time'), right(''), right('launches'), right(''), { title: 'kernel' }], rows, '  '),
      ...more(moved.length, limit),
    ]);
  }
  const calls = memory_calls.filter(({ a_per_step, b_per_step }) => (a_per_step ?? 0) > 0 || (b_per_step ?? 0) > 0);
  for (const { api, a_per_step, b_per_step } of calls.slice(0, limit)) {
    const times = (value: number | null): string => (value === null ? UNKNOWN : value.toFixed(1));
    pushAll(lines, labelled('calls', `${printable(api)}: ${times(a_per_step)} a step, then ${times(b_per_step)}`));
  }
  return lines;
}
