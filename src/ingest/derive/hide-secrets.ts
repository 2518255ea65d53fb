/**
 * Secrets of a file end here: whatever a parser emits passes this before it is a row, so neither the store nor anything
 * that is read from it has one. Texts of figures and memory lines are looked at once each, by `derive-text.ts`.
 */
import { findSecrets, hideSecrets, hideSecretsIn, hideSettingValue } from '../../knowledge/secrets.js';
import type { KeptFinding } from '../../model/log-rows.js';
import type { NsysText } from '../../model/nsys-rows.js';
import { type PackedTexts, packTexts } from '../../model/packed-texts.js';
import type { Dictionary, NsysSink, RawColumn, RawRows, RowSink } from '../../model/parser.js';

/** A sink that hides secrets and passes everything else on. To be given to every parser. */
export function hidingSecrets(sink: RowSink): RowSink {
  return {
    note: (note) => sink.note(hideSecretsIn(note)),
    incident: (row) => sink.incident(hideSecretsIn(row)),
    logRow: (finding, place) => sink.logRow(hiddenRow(finding), place),
    profilerMemory: (batch) => sink.profilerMemory(batch),
    nsys: sink.nsys === undefined ? undefined : hidingInExport(sink.nsys),
    attempt: (row) => sink.attempt(hideSecretsIn(row)),
    async snapshot(dictionary, memory) {
      const snapshot = await sink.snapshot(new HidingDictionary(dictionary), memory);
      return {
        events: (batch) => snapshot.events(batch),
        segments: (batch) => snapshot.segments(batch),
        blocks: (batch) => snapshot.blocks(batch),
        annotations: (batch) => snapshot.annotations(batch),
        hostEvents: (batch) => snapshot.hostEvents(batch),
        hostSegments: (batch) => snapshot.hostSegments(batch),
        oom: (row) => snapshot.oom(row),
        eventExtra: (row) => snapshot.eventExtra({ ...row, valueJson: hideSettingValue(row.key, row.valueJson) }),
        end(summary) {
          const settings = new Map<string, string>();
          for (const [key, value] of summary.settings) settings.set(key, hideSettingValue(key, value));
          snapshot.end({ ...summary, settings });
        },
      };
    },
  };
}

/** Rows that may come in millions are passed on: `derive-text.ts` looks at their texts. */
function hiddenRow(finding: KeptFinding): KeptFinding {
  switch (finding.row) {
    case 'iteration':
    case 'memory':
    case 'gauge':
      return finding;
    case 'value':
      return finding.text === undefined ? finding : { ...finding, text: hideSettingValue(finding.name, finding.text) };
    case 'config':
    case 'env':
      // Their values were hidden by `config-keys.ts` and `env-keys.ts`; a log may have hundreds of thousands.
      return finding;
    default:
      return hideSecretsIn(finding);
  }
}

class HidingDictionary implements Dictionary {
  private readonly all: Dictionary;
  /** By local id, once looked at. */
  private readonly texts: string[] = [];

  constructor(all: Dictionary) {
    this.all = all;
  }

  get textCount(): number {
    return this.all.textCount;
  }
  text(id: number): string {
    const known = this.texts[id];
    if (known !== undefined) return known;
    const text = hideSecrets(this.all.text(id));
    this.texts[id] = text;
    return text;
  }
  get frameCount(): number {
    return this.all.frameCount;
  }
  frame(id: number) {
    return this.all.frame(id);
  }
  get stackCount(): number {
    return this.all.stackCount;
  }
  stackFrames(id: number): Int32Array {
    return this.all.stackFrames(id);
  }
  get poolCount(): number {
    return this.all.poolCount;
  }
  pool(id: number): readonly [number, number] {
    return this.all.pool(id);
  }
}

function hidingInExport(sink: NsysSink): NsysSink {
  /** Places of columns whose text names the value of another one, in the table that is being read. */
  let names: readonly number[] = [];
  let value = -1;
  return {
    rows: (kind, batch) => sink.rows(kind, batch),
    texts: (texts) => sink.texts(hiddenTexts(texts)),
    fact: (fact) => sink.fact(hideSecretsIn(fact)),
    rawTable(table, columns) {
      const all = columns.map(({ name }) => name.toLowerCase());
      names = all.flatMap((name, i) => (/^(?:name|key)$/.test(name) ? [i] : []));
      value = all.indexOf('value');
      return sink.rawTable(table, columns);
    },
    raw: (rows) => sink.raw(hiddenRaw(rows, names, value)),
  };
}

function hiddenTexts(texts: PackedTexts): PackedTexts {
  const { ids, ends, bytes } = texts;
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const textAt = (i: number): string => all.toString('utf8', i === 0 ? 0 : ends[i - 1], ends[i]);
  const hasSecret = ends.some((_, i) => findSecrets(textAt(i)).length > 0);
  if (!hasSecret) return texts;
  return packTexts(Array.from(ids, (id, i): NsysText => ({ id, text: hideSecrets(textAt(i)) })));
}

function hiddenRaw(rows: RawRows, names: readonly number[], value: number): RawRows {
  const columns = rows.columns.map((column, place): RawColumn => {
    if (column.type !== 'text') return column;
    const named = place === value ? names.map((name) => rows.columns[name]) : [];
    const texts = column.texts.map((text, row) => {
      if (text === undefined) return undefined;
      const name = named.map((other) => (other?.type === 'text' ? other.texts[row] : undefined)).find((one) => one);
      return name === undefined ? hideSecrets(text) : hideSettingValue(name, text);
    });
    return { type: 'text', texts };
  });
  return { ...rows, columns };
}
