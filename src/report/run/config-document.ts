/** Settings in force, and what differs. */
import type { ConfigConflict, ConfigEntry, ConfigResult } from '../../model/results/log.js';
import * as d from '../document/document.js';
import { excerpt } from '../document/values.js';

/** Of one run alone, in a comparison. */
const MOST_ONE_SIDED = 40;
const MOST_VALUES = 4;

type Diff = NonNullable<ConfigResult['diff']>;

const valueText = (value: string | null): string => (value === null ? 'null' : excerpt(value));

export function configDocument({ schema, run, settings, conflicts, diff }: ConfigResult): d.Document {
  const name = d.as('run', d.code(run));
  if (diff !== null) return diffDocument(schema, run, settings.length > 0, diff);
  if (settings.length === 0) return d.document(schema, d.t`run ${name}: no setting was found`);
  return d.document(
    schema,
    d.t`run ${name}: ${d.counted(settings.length, 'setting', 'settings', 'count')}`,
    ...byMemory(settings, (entries, key) => settingsTable(entries, key)),
    d.section(
      'Several sources differ; the first is used',
      {},
      d.items(conflicts.map(conflictText), { key: 'conflicts' }),
    ),
  );
}

/** What affects memory, then the others. */
const byMemory = <Row extends { readonly memory: boolean }>(
  rows: readonly Row[],
  part: (rows: readonly Row[], key: string) => d.MaybePart,
): d.MaybePart[] =>
  [true, false].map((memory) => {
    const some = rows.filter((row) => row.memory === memory);
    return memory
      ? d.section('Settings that affect memory', {}, part(some, 'memory'))
      : d.section('Other settings', {}, part(some, 'others'));
  });

const settingsTable = (entries: readonly ConfigEntry[], key: string): d.MaybePart =>
  d.table(
    entries,
    [
      d.names('setting', (entry) => entry.key),
      d.names('value', ({ value }) => valueText(value)),
      d.column('origin', ({ origin }) => origin),
    ],
    { key },
  );

function conflictText({ key, values }: ConfigConflict): d.Text {
  const texts = values
    .slice(0, MOST_VALUES)
    .map(({ value, origin, file, line }) => d.t`${d.code(valueText(value))} (${origin}, ${d.code(`${file}:${line}`)})`);
  const more = values.length - texts.length;
  return d.t`${d.code(key)}: ${d.joined([...texts, more > 0 && `${more} more (--json=full)`], '; ')}`;
}

function diffDocument(schema: string, run: string, hasSettings: boolean, diff: Diff): d.Document {
  const { other, different, only_here: onlyHere, only_there: onlyThere, equal } = diff;
  const side = (name: string, entries: readonly ConfigEntry[], key: string): d.MaybePart => {
    const more = entries.length - MOST_ONE_SIDED;
    const shown = settingsTable(entries.slice(0, MOST_ONE_SIDED), key);
    return d.section(
      d.t`${d.counted(entries.length, 'setting')} only in ${d.code(name)}`,
      {},
      shown,
      more > 0 && d.items([d.t`${d.counted(more, 'more setting')}: --json=full lists all`]),
    );
  };
  return d.document(
    schema,
    d.t`${d.as('run', d.code(run))} against ${d.as('other', d.code(other))}: ${d.counted(different.length, 'setting')} ${different.length === 1 ? 'differs' : 'differ'}, ${d.as('equal', d.count(equal))} equal`,
    !hasSettings && different.length === 0 && d.items([d.t`no setting was found in ${d.code(run)}`]),
    ...byMemory(different, (rows, key) =>
      d.table(
        rows,
        [
          d.names('setting', (row) => row.key),
          d.names('value', ({ value }) => valueText(value), { title: run }),
          d.names('other_value', ({ other_value: value }) => valueText(value), { title: other }),
        ],
        { key },
      ),
    ),
    side(run, onlyHere, 'only_here'),
    side(other, onlyThere, 'only_there'),
  );
}
