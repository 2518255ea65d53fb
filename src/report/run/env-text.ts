/** Environment variables, and which ranks differ. */
import { pushAll } from '../../model/lists.js';
import type { EnvResult } from '../../model/results/log.js';
import { formatCount } from '../../model/units.js';
import { keepEnd, left, printable, tableOf } from '../table.js';
import { paragraph, rankList, rankWords, shortText } from '../text-pieces.js';

export function envText(result: EnvResult): string {
  const lines: string[] = [];
  if (result.variables.length === 0) lines.push(`run ${printable(result.run)}: no environment variable was found`);
  else {
    const captured =
      result.captured_ranks.length === 0
        ? 'no environment was captured whole'
        : `captured whole: ${rankWords(result.captured_ranks)}`;
    lines.push(
      `run ${printable(result.run)}: ${formatCount(result.variables.length)} variables; ${captured}`,
      '',
      tableOf(result.variables, [
        left('variable', (variable) => keepEnd(variable.key, 36)),
        left('value', (variable) => (variable.value === null ? '(unset)' : shortText(variable.value, 44))),
        left('origin', (variable) => variable.origin),
      ]),
    );
    pushAll(lines, differences(result));
  }
  // Torch records a division for every power of two, most of them off.
  const settings = result.snapshot_settings.filter(
    ({ key, value }) => !(key.startsWith('roundup_power2_divisions.') && (value === '0' || value === '1')),
  );
  if (settings.length > 0) {
    lines.push(
      '',
      'recorded by the allocator in memory snapshots',
      tableOf(settings, [
        left('setting', ({ key }) => keepEnd(key, 44)),
        left('value', ({ value }) => shortText(value, 36)),
        left('ranks', ({ ranks }) => rankList(ranks, 4)),
      ]),
    );
  }
  return `${lines.join('\n')}\n`;
}

function differences(result: EnvResult): string[] {
  const lines: string[] = [];
  for (const variable of result.variables) {
    const distinct = new Set(variable.values.map(({ value }) => value));
    if (distinct.size > 1) {
      const values = variable.values.slice(0, 6).map(({ value, origin, ranks }) => {
        const where = ranks.length === 0 ? origin : `${origin}, ${rankWords(ranks, 4)}`;
        return `${value === null ? '(unset)' : shortText(value, 40)} (${where})`;
      });
      pushAll(lines, paragraph(`  ${printable(variable.key)}: ${values.join('; ')}`));
    }
    if (variable.not_set_on.length > 0)
      pushAll(lines, paragraph(`  ${printable(variable.key)}: not set on ${rankWords(variable.not_set_on)}`));
  }
  return lines.length === 0 ? [] : ['', 'differences', ...lines];
}
