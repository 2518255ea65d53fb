/** Settings in force, and what differs. */
import type { ConfigConflict, ConfigEntry, ConfigResult } from '../../model/results/log.js';
import {
  as,
  code,
  column,
  count,
  counted,
  type Document,
  document,
  items,
  joined,
  type MaybePart,
  names,
  section,
  type Text,
  t,
  table,
} from '../document/document.js';
import { excerpt } from '../document/values.js';

/** Of one run alone, in a comparison. */
const MOST_ONE_SIDED = 40;
const MOST_VALUES = 4;

type Diff = NonNullable<ConfigResult['diff']>;

const valueText = (value: string | null): string => (value === null ? 'null' : excerpt(value));

export function configDocument({ schema, run, settings, conflicts, diff }: ConfigResult): Document {
  const name = as('run', code(run));
  if (diff !== null) return diffDocument(schema, run, settings.length > 0, diff);
  if (settings.length === 0) return document(schema, t`run ${name}: no setting was found`);
  return document(
    schema,
    t`run ${name}: ${counted(settings.length, 'setting', 'settings', 'count')}`,
    ...byMemory(settings, (entries, key) => settingsTable(entries, key)),
    section('Several sources differ; the first is used', {}, items(conflicts.map(conflictText), { key: 'conflicts' })),
  );
}

/** What affects memory, then the others. */
const byMemory = <Row extends { readonly memory: boolean }>(
  rows: readonly Row[],
  part: (rows: readonly Row[], key: string) => MaybePart,
): MaybePart[] =>
  [true, false].map((memory) => {
    const some = rows.filter((row) => row.memory === memory);
    return memory
      ? section('Settings that affect memory', {}, part(some, 'memory'))
      : section('Other settings', {}, part(some, 'others'));
  });

const settingsTable = (entries: readonly ConfigEntry[], key: string): MaybePart =>
  table(
    entries,
    [
      names('setting', (entry) => entry.key),
      names('value', ({ value }) => valueText(value)),
      column('origin', ({ origin }) => origin),
    ],
    { key },
  );

function conflictText({ key, values }: ConfigConflict): Text {
  const texts = values
    .slice(0, MOST_VALUES)
    .map(({ value, origin, file, line }) => t`${code(valueText(value))} (${origin}, ${code(`${file}:${line}`)})`);
  const more = values.length - texts.length;
  return t`${code(key)}: ${joined([...texts, more > 0 && `${more} more (--json=full)`], '; ')}`;
}

function diffDocument(schema: string, run: string, hasSettings: boolean, diff: Diff): Document {
  const { other, different, only_here: onlyHere, only_there: onlyThere, equal } = diff;
  const side = (name: string, entries: readonly ConfigEntry[], key: string): MaybePart => {
    const more = entries.length - MOST_ONE_SIDED;
    const shown = settingsTable(entries.slice(0, MOST_ONE_SIDED), key);
    return section(
      t`${counted(entries.length, 'setting')} only in ${code(name)}`,
      {},
      shown,
      more > 0 && items([t`${counted(more, 'more setting')}: --json=full lists all`]),
    );
  };
  return document(
    schema,
    t`${as('run', code(run))} against ${as('other', code(other))}: ${counted(different.length, 'setting')} ${different.length === 1 ? 'differs' : 'differ'}, ${as('equal', count(equal))} equal`,
    !hasSettings && different.length === 0 && items([t`no setting was found in ${code(run)}`]),
    ...byMemory(different, (rows, key) =>
      table(
        rows,
        [
          names('setting', (row) => row.key),
          names('value', ({ value }) => valueText(value), { title: run }),
          names('other_value', ({ other_value: value }) => valueText(value), { title: other }),
        ],
        { key },
      ),
    ),
    side(run, onlyHere, 'only_here'),
    side(other, onlyThere, 'only_there'),
  );
}
