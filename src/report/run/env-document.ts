/** Environment variables, and which ranks differ. */
import type { EnvResult, EnvVariable } from '../../model/results/log.js';
import {
  as,
  code,
  column,
  counted,
  type Document,
  document,
  items,
  joined,
  names,
  section,
  type Text,
  t,
  table,
} from '../document/document.js';
import { excerpt } from '../document/values.js';
import { rankList, rankWords } from '../text-pieces.js';

const MOST_VALUES = 6;
const MOST_RANGES = 4;

const valueText = (value: string | null): Text =>
  value === null ? '(unset)' : value === '' ? '(empty)' : code(excerpt(value));

export function envDocument({
  schema,
  run,
  variables,
  captured_ranks: captured,
  snapshot_settings,
}: EnvResult): Document {
  const name = as('run', code(run));
  const from = captured.length === 0 ? 'no environment was captured whole' : `captured whole: ${rankWords(captured)}`;
  return document(
    schema,
    variables.length === 0
      ? t`run ${name}: no environment variable was found`
      : t`run ${name}: ${counted(variables.length, 'variable', 'variables', 'count')}; ${from}`,
    table(
      variables,
      [
        names('variable', ({ key }) => key),
        names('value', ({ value }) => valueText(value)),
        column('origin', ({ origin }) => origin),
      ],
      { key: 'variables' },
    ),
    section('Differences', {}, items(variables.flatMap(differences), { key: 'differences' })),
    section(
      'Recorded by the allocator in memory snapshots',
      {},
      table(
        // Torch records a division for every power of two, most of them off.
        snapshot_settings.filter(
          ({ key, value }) => !(key.startsWith('roundup_power2_divisions.') && (value === '0' || value === '1')),
        ),
        [
          names('setting', ({ key }) => key),
          names('value', ({ value }) => valueText(value)),
          column('ranks', ({ ranks }) => rankList(ranks, MOST_RANGES)),
        ],
        { key: 'snapshot_settings' },
      ),
    ),
  );
}

function differences({ key, values, not_set_on: lacking }: EnvVariable): Text[] {
  const texts = values.slice(0, MOST_VALUES).map(({ value, origin, ranks }) => {
    const where = ranks.length === 0 ? origin : `${origin}, ${rankWords(ranks, MOST_RANGES)}`;
    return t`${valueText(value)} (${where})`;
  });
  const isDistinct = new Set(values.map(({ value }) => value)).size > 1;
  return [
    ...(isDistinct ? [t`${code(key)}: ${joined(texts, '; ')}`] : []),
    ...(lacking.length > 0 ? [t`${code(key)}: not set on ${rankWords(lacking)}`] : []),
  ];
}
