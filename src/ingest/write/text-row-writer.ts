/** Writes the contents of a text (iterations, memory lines, figures, phases, settings) into the open transaction. */
import type { ColumnBatch } from '../../model/columns.js';
import { type AttemptRow, CONFIG_ORIGINS, ENV_ORIGINS, type LogPlace } from '../../model/log-rows.js';
import type { Note } from '../../model/tables.js';
import type { SqlValue } from '../../store/to-duckdb.js';
import { type SmallFinding, TEXT_LAYOUTS, type TextKind, type TextSink } from '../derive/derive-text.js';
import type { Group } from './group.js';
import type { StoreDictionary } from './store-dictionary.js';

/** Most settings and phases kept per source; a log that dumps its configuration at every step adds nothing. */
const MAX_SMALL_ROWS = 100_000;

type Fields = Readonly<Record<string, SqlValue>>;

export class TextRowWriter implements TextSink {
  private readonly group: Group;
  private readonly target: StoreDictionary;
  private readonly sourceId: number;
  /** The store's ids of the file's texts. */
  private readonly textIds: number[] = [];
  private readonly newTexts: { text_id: number; text: string }[] = [];
  private readonly attempts: AttemptRow[] = [];
  private readonly small: Readonly<Record<'log_phase' | 'log_config' | 'log_env', Fields[]>> = {
    log_phase: [],
    log_config: [],
    log_env: [],
  };
  private dropped = 0;
  private batchRows = 0;

  static async open(group: Group, target: StoreDictionary, sourceId: number): Promise<TextRowWriter> {
    await target.ready();
    await group.expect(Object.values(TEXT_LAYOUTS));
    return new TextRowWriter(group, target, sourceId);
  }

  private constructor(group: Group, target: StoreDictionary, sourceId: number) {
    this.group = group;
    this.target = target;
    this.sourceId = sourceId;
  }

  textRows(_kind: TextKind, batch: ColumnBatch, newTexts: readonly string[]): void {
    for (const text of newTexts) {
      const { id, isNew } = this.target.internText(text);
      this.textIds.push(id);
      if (isNew) this.newTexts.push({ text_id: id, text });
    }
    this.batchRows += batch.rows;
    const { textIds } = this;
    batch.i32('source_id').fill(this.sourceId, 0, batch.rows);
    for (const { name, refersTo } of batch.layout.columns) {
      if (refersTo !== 'text') continue;
      const column = batch.i32(name);
      for (let row = 0; row < batch.rows; row++) {
        const local = column[row]!;
        if (local >= 0) column[row] = textIds[local]!;
      }
    }
    this.group.append(batch);
  }

  textRow(finding: SmallFinding, place: LogPlace): void {
    if (finding.row === 'phase') {
      const { phase, label, iteration = null } = finding;
      this.keep('log_phase', place, { byteOffset: place.offset, phase, label, iteration, timeUs: place.timeUs });
    } else if (finding.row === 'config') {
      const { row: _, ...fields } = finding;
      this.keep('log_config', place, { ...fields, precedence: CONFIG_ORIGINS.indexOf(finding.origin) });
    } else {
      const { row: _, ...fields } = finding;
      this.keep('log_env', place, { host: place.host, ...fields, precedence: ENV_ORIGINS.indexOf(finding.origin) });
    }
  }

  /** Whether nothing but launches was found: every text has one. */
  get isEmpty(): boolean {
    return this.batchRows === 0 && this.dropped === 0 && Object.values(this.small).every((rows) => rows.length === 0);
  }

  attempt(row: AttemptRow): void {
    this.attempts.push(row);
  }

  private keep(table: keyof TextRowWriter['small'], place: LogPlace, fields: Fields): void {
    const rows = this.small[table];
    if (rows.length >= MAX_SMALL_ROWS) {
      this.dropped += 1;
      return;
    }
    const { attempt, line, rank, format } = place;
    rows.push({ source_id: this.sourceId, attempt, line, rank, format, ...fields });
  }

  /** Writes what is still waiting; to be called once. */
  finish(): Note[] {
    const { group, sourceId } = this;
    group.insert('text_value', this.newTexts);
    for (const [table, rows] of Object.entries(this.small)) group.insert(table, rows);
    group.insert(
      'source_attempt',
      this.attempts.map((row) => ({ source_id: sourceId, ...row })),
    );
    if (this.dropped === 0) return [];
    const text = `more than ${MAX_SMALL_ROWS} settings or phases of one kind; the rest is counted, not kept`;
    return [{ kind: 'log_rows_dropped', severity: 'warning', text, count: this.dropped }];
  }
}
