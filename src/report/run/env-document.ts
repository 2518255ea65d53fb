/** Environment variables, and which ranks differ. */

import type { EnvResult, EnvVariable } from '../../model/results/log.js';
import * as d from '../document/document.js';
import { excerpt } from '../document/values.js';
import { rankList, rankWords } from '../text-pieces.js';
import { isUnusedDivision } from './unused-division.js';

const MOST_VALUES = 6;
const MOST_RANGES = 4;

const valueText = (value: string | null): d.Text =>
  value === null ? '(unset)' : value === '' ? '(empty)' : d.code(excerpt(value));

export function envDocument({
  schema,
  run,
  variables,
  captured_ranks: captured,
  snapshot_settings,
}: EnvResult): d.Document {
  const name = d.as('run', d.code(run));
  const from = captured.length === 0 ? 'no environment was captured whole' : `captured whole: ${rankWords(captured)}`;
  return d.document(
    schema,
    variables.length === 0
      ? d.t`run ${name}: no environment variable was found`
      : d.t`run ${name}: ${d.counted(variables.length, 'variable', 'variables', 'count')}; ${from}`,
    d.table(
      variables,
      [
        d.names('variable', ({ key }) => key),
        d.names('value', ({ value }) => valueText(value)),
        d.column('origin', ({ origin }) => origin),
      ],
      { key: 'variables' },
    ),
    d.section('Differences', {}, d.items(variables.flatMap(differences), { key: 'differences' })),
    d.section(
      'Recorded by the allocator in memory snapshots',
      {},
      d.table(
        snapshot_settings.filter(({ key, value }) => !isUnusedDivision(key, value)),
        [
          d.names('setting', ({ key }) => key),
          d.names('value', ({ value }) => valueText(value)),
          d.column('ranks', ({ ranks }) => rankList(ranks, MOST_RANGES)),
        ],
        { key: 'snapshot_settings' },
      ),
    ),
  );
}

function differences({ key, values, not_set_on: lacking }: EnvVariable): d.Text[] {
  const texts = values.slice(0, MOST_VALUES).map(({ value, origin, ranks }) => {
    const where = ranks.length === 0 ? origin : `${origin}, ${rankWords(ranks, MOST_RANGES)}`;
    return d.t`${valueText(value)} (${where})`;
  });
  const isDistinct = new Set(values.map(({ value }) => value)).size > 1;
  return [
    ...(isDistinct ? [d.t`${d.code(key)}: ${d.joined(texts, '; ')}`] : []),
    ...(lacking.length > 0 ? [d.t`${d.code(key)}: not set on ${rankWords(lacking)}`] : []),
  ];
}
