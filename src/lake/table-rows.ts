/** SELECT statements of what one block of a run adds to the tables of a lake. */
import { quotedText } from '../store/schema.js';
import { type Block, ownsRankSql } from './block.js';
import { type Key, type LakeColumn, type LakeTable, lakeTables, NUMBERS_PER_BLOCK } from './lake-tables.js';

/** What is added. */
export interface Added {
  readonly runId: number;
  /** Name of the run in the lake; see `run-key.ts`. */
  readonly run: string;
  readonly block: Block;
  /** Whether the store has other runs: texts and stacks that are theirs alone are left out. */
  readonly isOneOfMany: boolean;
}

/** 52 bits of a text, exact in a double: the first 13 digits of its MD5. */
export const hashed = (...parts: readonly string[]): string =>
  `('0x' || md5(concat_ws('|', ${parts.join(', ')}))[1:13])::BIGINT`;

/** The keys that replace the numbers of a store. */
function keyTables({ runId, run, block }: Added): Readonly<Record<string, string>> {
  const owned = (rank: string): string => ownsRankSql(block, rank);
  const name = quotedText(run);
  // Two nodes have files of their own under one name.
  const place = quotedText(block.isLocal ? String(block.number) : '');
  return {
    source_key: `SELECT source_id, ${hashed(name, place, 'display_path')} AS key, rank, ${owned('rank')} AS is_owned
      FROM source WHERE run_id = ${runId}`,
    snapshot_key: `SELECT snapshot_id, ${hashed(name, place, 'display_path', "regexp_extract(handle, '#(\\d+)$', 1)")} AS key, snapshot.rank,
        regexp_extract(handle, '#(\\d+)$', 1)::INTEGER AS ordinal, ${owned('coalesce(snapshot.rank, source.rank)')} AS is_owned
      FROM snapshot JOIN source USING (source_id) WHERE snapshot.run_id = ${runId}`,
    incident_key: `SELECT incident_id, is_owned,
        ${hashed('source_key.key', 'row_number() OVER (PARTITION BY source_id ORDER BY incident_id)')} AS key
      FROM incident JOIN source_key USING (source_id)`,
    failure_key: `SELECT failure, ${owned('rank')} AS is_owned FROM oom_fact WHERE run_id = ${runId}`,
    stack_key: `SELECT stack_id, ('0x' || content_key[1:13])::BIGINT AS key FROM stack`,
    frame_key: `SELECT frame_id, ${hashed('name', 'filename', 'line')} AS key FROM frame`,
    text_key: `SELECT text_id, ${hashed('text')} AS key FROM text_value`,
  };
}

/** The place of these is their number, by which evidence of the block names them. */
const NUMBERED_BY: Readonly<Record<string, string>> = {
  ...{ source: 'source_id', snapshot: 'snapshot_id', incident: 'incident_id', stack: 'stack_id' },
};

/**
 * Columns by which a reader looks for rows of state and events: row groups then hold few ranks each. Lifetimes are in
 * the order of their ends: four columns grow with it and two with that of their beginnings, which makes 3.1 bytes an
 * entry of the trace instead of 3.7.
 */
const ORDER = [
  ...['rank', 'snapshot', 'device', 'source_id', 'line', 'ordinal', 'segment', 'to_seq', 'block', 'seq', 'from_seq'],
  ...['address', 'action', 'pos', 'place'],
];

/** The rows of a table, in an order that depends on them alone. */
export function tableRows(table: LakeTable, added: Added): string {
  const { runId, block } = added;
  const joins = new Map<string, string>();
  const join = (key: Key, column: string): string => {
    const alias = `${key}_of_${column}`;
    joins.set(alias, `LEFT JOIN ${key}_key AS ${alias} ON ${alias}.${key}_id = t.${column}`);
    return `${alias}.key`;
  };
  const columns = table.columns.map((column) => `${translated(column, added, join)} AS ${column.name}`);
  const conditions: string[] = [];
  const { scope } = table;
  if (scope === 'source' || scope === 'snapshot' || scope === 'incident') {
    join(scope, `${scope}_id`);
    conditions.push(`${scope}_of_${scope}_id.is_owned`);
  } else if (scope === 'failure') {
    joins.set('failure_of', 'JOIN failure_key AS failure_of ON failure_of.failure = t.failure');
    conditions.push(`t.run_id = ${runId}`, 'failure_of.is_owned');
  } else if (scope === 'rank') conditions.push(`t.run_id = ${runId}`, ownsRankSql(block, 't.rank'));
  else if (scope === 'run') conditions.push(`t.run_id = ${runId}`);
  else if (added.isOneOfMany) {
    const key = table.columns[0]!.key!;
    conditions.push(`t.${key}_id IN (${usesOf(key, added)})`);
  }
  for (const name of table.added) {
    if (name === 'task') {
      columns.push(`${block.number} AS task`);
      continue;
    }
    if (name === 'place') {
      columns.push(`t.${NUMBERED_BY[table.name] ?? 'rowid'}::BIGINT AS place`);
      continue;
    }
    join('snapshot', 'snapshot_id');
    columns.push(`snapshot_of_snapshot_id.${name === 'rank' ? 'rank' : 'ordinal'} AS ${name}`);
  }
  const text = [`SELECT ${columns.join(', ')}`, `FROM ${table.name} AS t`, ...joins.values()];
  if (conditions.length > 0) text.push(`WHERE ${conditions.join(' AND ')}`);
  const rows = text.join('\n');
  const used = Object.entries(keyTables(added)).filter(([name]) => usesName(rows, name));
  return `${withTables(used, added)}${rows}\nORDER BY ${orderOf(table, columns)}`;
}

const usesName = (text: string, name: string): boolean => new RegExp(`\\b${name}\\b`).test(text);

/** Incidents have the key of their file. */
function withTables(used: readonly (readonly [string, string])[], added: Added): string {
  const all = keyTables(added);
  const names = new Set(
    used.flatMap(([name, text]) => [...(usesName(text, 'source_key') ? ['source_key'] : []), name]),
  );
  if (names.size === 0) return '';
  return `WITH ${[...names].map((name) => `${name} AS (${all[name]})`).join(',\n')}\n`;
}

/** Parameters of evidence's queries: the one run of a restored store has the number 1. */
const PARAMETERS = `regexp_replace(t.parameters, '"run_id":[0-9]+', '"run_id":1')`;

function translated(
  { name, key, type, storeType }: LakeColumn,
  { run, block }: Added,
  join: (key: Key, column: string) => string,
): string {
  if (name === 'parameters') return PARAMETERS;
  if (key === undefined) return type === storeType ? `t.${name}` : `t.${name}::${type}`;
  if (key === 'run') return hashed(quotedText(run));
  if (key === 'failure') return `t.${name} + ${block.number * NUMBERS_PER_BLOCK}`;
  return join(key, name);
}

/** Where an order by few columns leaves none open; small tables are ordered by all. */
function orderOf({ level, scope }: LakeTable, columns: readonly string[]): string {
  const names = columns.map((column) => column.slice(column.lastIndexOf(' ') + 1));
  const ordered = ORDER.filter((name) => names.includes(name));
  const isWide = scope === 'snapshot' || scope === 'source';
  return level === 'answers' || !isWide || ordered.length < 4 ? 'ALL' : ordered.join(', ');
}

/** The texts, stacks or frames that rows of the run name. */
function usesOf(key: Key, added: Added): string {
  if (key === 'frame') return `SELECT frame_id FROM stack_frame WHERE stack_id IN (${usesOf('stack', added)})`;
  const uses = lakeTables().flatMap(({ name, scope, columns, level }) =>
    scope === 'dictionary' || level === 'events'
      ? []
      : columns.flatMap((column) => {
          if (column.key !== key) return [];
          const rows =
            scope === 'snapshot' || scope === 'source'
              ? `t JOIN ${scope}_key AS of_run USING (${scope}_id)`
              : `t WHERE t.run_id = ${added.runId}`;
          return [`SELECT t.${column.name} FROM ${name} AS ${rows}`];
        }),
  );
  return uses.join(' UNION ');
}
