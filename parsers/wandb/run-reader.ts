/** Turns the records of one transaction log into rows. */
import { readLiteralAt } from '../../src/knowledge/literal.js';
import { type KeptFinding, type KnownRank, type LogPlace, plainPlace, rankFields } from '../../src/model/log-rows.js';
import type { RowSink } from '../../src/model/parser.js';
import type { Note } from '../../src/model/tables.js';
import { flattenSettings, settingFinding } from '../../src/text/flatten-settings.js';
import { Oddities } from '../../src/text/oddities.js';
import { ScalarRows } from '../../src/text/scalars/scalar-rows.js';
import { splitSystemLabel, systemGauge } from '../../src/text/scalars/system-metrics.js';
import type { RecordHandler } from './chunk-reader.js';
import { environmentFacts, type Fact, figure, rankOfSlurm, word } from './environment.js';
import { eachNumber, numberOf } from './json-numbers.js';
import { timeUs } from './proto-fields.js';
import {
  type Item,
  isPassedOver,
  type RunFacts,
  type RunRecord,
  readRecord,
  typeOfRecord,
  type Versions,
} from './records.js';

/** Settings of one run; more is data. */
const MOST_SETTINGS = 20_000;
/** Facts that were emitted, so that a run that is updated emits each once. */
const MOST_FACTS = 10_000;
const MOST_KINDS = 20;
/** Names of figures that only a DCGM exporter gives; the label behind them is its node. */
const OF_EXPORTER = /^gpu\.\d{1,3}\.memory(?:Used|Free|Total)$/;

export class RunReader implements RecordHandler {
  rank: KnownRank = null;
  hasExit = false;
  private readonly sink: RowSink;
  private ordinal = 0;
  private host: string | null = null;
  private startUs: number | null = null;
  private scalars: ScalarRows | undefined;
  private readonly emitted = new Set<string>();
  private readonly settings = new Map<string, string | null>();
  private droppedSettings = 0;
  private readonly oddities = new Oddities();
  private readonly unknown = new Map<number, number>();
  private readonly devicesInUse = new Set<number>();

  constructor(sink: RowSink) {
    this.sink = sink;
  }

  record(bytes: Uint8Array, offset: number): void {
    this.ordinal += 1;
    let record: RunRecord;
    try {
      record = readRecord(bytes);
    } catch {
      // Whole by its checksum, so that its writer meant it, but no message of this kind.
      this.oddities.add('wandb_malformed', undefined, offset);
      return;
    }
    switch (record.kind) {
      case 'history':
        this.history(record.items, record.step, offset);
        break;
      case 'stats':
        this.stats(record.items, record.timeUs, offset);
        break;
      case 'config':
        this.config(record.items, offset);
        break;
      case 'run':
        this.run(record.run, offset);
        break;
      case 'environment': {
        const { environment } = record;
        if (environment.host !== '') this.host ??= environment.host;
        this.rank ??= rankOfSlurm(environment.slurm);
        this.facts(environmentFacts(environment), 'wandb.environment', environment.startedUs ?? this.startUs, offset);
        break;
      }
      case 'versions':
        this.versions(record.versions, offset);
        break;
      case 'exit': {
        this.hasExit = true;
        const facts = [figure('wandb.exit_code', record.code, null)];
        if (record.runtimeS > 0) facts.push(figure('wandb.runtime', record.runtimeS, 's'));
        this.facts(facts, 'wandb.exit', null, offset);
        break;
      }
      case 'unknown':
        this.passUnknown(record.field);
        break;
    }
  }

  longRecord(head: Uint8Array, _bytes: number, offset: number): void {
    this.ordinal += 1;
    const type = typeOfRecord(head);
    if (type !== null && isPassedOver(type)) return;
    this.oddities.add('wandb_long_record', undefined, offset);
  }

  /** To be called after the last record. */
  end(): Note[] {
    this.scalars?.end();
    const notes: Note[] = this.oddities.notes();
    if (this.unknown.size > 0) {
      const types = [...this.unknown.keys()].join(', ');
      const count = [...this.unknown.values()].reduce((sum, records) => sum + records, 0);
      const text = `records of types that this version does not know (${types}); a newer wandb may have put figures there`;
      notes.push({ kind: 'wandb_unknown_record', severity: 'info', text, count });
    }
    if (this.droppedSettings > 0) {
      const text = `more than ${MOST_SETTINGS} settings; the rest is counted, not kept`;
      notes.push({ kind: 'wandb_settings_dropped', severity: 'warning', text, count: this.droppedSettings });
    }
    return notes;
  }

  private passUnknown(field: number): void {
    if (this.unknown.size < MOST_KINDS || this.unknown.has(field)) {
      this.unknown.set(field, (this.unknown.get(field) ?? 0) + 1);
    }
  }

  private place(format: string, time: number | null, offset: number): LogPlace {
    const { ordinal: line, rank, host } = this;
    return plainPlace({ line, offset, ...rankFields(rank), host, timeUs: time, format });
  }

  private emit(finding: KeptFinding, place: LogPlace): void {
    const device = 'device' in finding ? finding.device : undefined;
    this.sink.logRow(finding, device === undefined ? place : { ...place, device });
  }

  /** A repeated fact of a record is not emitted again. */
  private facts(facts: readonly Fact[], format: string, time: number | null, offset: number): void {
    const place = this.place(format, time, offset);
    for (const fact of facts) {
      if (fact.row === 'config') {
        this.setting(fact.rawKey, fact.value, fact, place);
        continue;
      }
      const key = JSON.stringify(fact);
      if (this.emitted.has(key) || this.emitted.size >= MOST_FACTS) continue;
      this.emitted.add(key);
      this.emit(fact, place);
    }
  }

  private versions(versions: Versions, offset: number): void {
    const known = Object.entries(versions).filter(([, text]) => text !== '');
    const facts = known.map(([name, text]: [string, string]) => word(`version.${name}`, text));
    this.facts(facts, 'wandb.run', this.startUs, offset);
  }

  private run(run: RunFacts, offset: number): void {
    if (run.host !== '') this.host = run.host;
    this.startUs ??= run.startUs;
    this.rank ??= rankOfConfig(run.config);
    const words: readonly (readonly [string, string])[] = [
      ['wandb.run_id', run.id],
      ['wandb.entity', run.entity],
      ['wandb.project', run.project],
      ['wandb.name', run.name],
      ['wandb.group', run.group],
      ['wandb.job_type', run.jobType],
      ['wandb.sweep_id', run.sweep],
      ['commit.source', run.commit],
    ];
    const facts: Fact[] = words.filter(([, text]) => text !== '').map(([name, text]) => word(name, text));
    // Not 0 where a run goes on that another process began.
    if (run.startingStep > 0) facts.push(figure('wandb.starting_step', run.startingStep, null));
    this.facts(facts, 'wandb.run', this.startUs, offset);
    this.versions(run.versions, offset);
    this.config(run.config, offset);
  }

  private config(items: readonly Item[], offset: number): void {
    const place = this.place('wandb.config', null, offset);
    for (const { path, json } of items) {
      // `_wandb`: what W&B itself keeps there.
      if (path.length === 0 || path[0] === '_wandb' || json === '') continue;
      flattenSettings(
        readLiteralAt(json, 0).value,
        (where, value) => {
          const finding = settingFinding(where, value, 'run file');
          if (finding !== null) this.setting(where.join('.'), value, finding, place);
        },
        path,
      );
    }
  }

  private setting(key: string, value: string | null, finding: KeptFinding, place: LogPlace): void {
    if (this.settings.get(key) === value && this.settings.has(key)) return;
    if (this.settings.size >= MOST_SETTINGS && !this.settings.has(key)) {
      this.droppedSettings += 1;
      return;
    }
    this.settings.set(key, value);
    this.emit(finding, place);
  }

  private history(items: readonly Item[], step: number | null, offset: number): void {
    let time: number | null = null;
    for (const { path, json } of items) {
      const value = path.length === 1 && path[0]!.startsWith('_') ? numberOf(json) : undefined;
      if (value === undefined) continue;
      if (path[0] === '_timestamp') time = timeUs(value);
      else if (path[0] === '_step' && Number.isSafeInteger(value)) step ??= value;
    }
    // The records with the run's host and rank precede this; later ones belong to another process.
    this.scalars ??= new ScalarRows((finding, place) => this.emit(finding, place), {
      format: 'wandb.history',
      ...rankFields(this.rank),
      host: this.host,
    });
    const { scalars, ordinal } = this;
    for (const { path, json } of items) {
      if (path.length === 0 || path[0]!.startsWith('_')) continue;
      eachNumber(path.join('.'), json, (tag, value) => {
        scalars.add({ tag, value, step, timeUs: time, ordinal, offset });
      });
    }
  }

  private stats(items: readonly Item[], time: number | null, offset: number): void {
    const place = this.place('wandb.stats', time, offset);
    const numbers: { readonly tag: string; readonly value: number }[] = [];
    for (const { path, json } of items) {
      if (path.length > 0) eachNumber(path.join('.'), json, (tag, value) => numbers.push({ tag, value }));
    }
    const names = new Set(numbers.map(({ tag }) => tag));
    const nodes = nodesOf(names);
    for (const { tag, value } of numbers) {
      const { name, label } = splitSystemLabel(tag);
      const copy = /^gpu\.process\.(\d{1,3})\./.exec(name);
      if (copy !== null) {
        this.inUse(Number(copy[1]), place);
        // The device's own figure again.
        if (names.has(tag.replace('gpu.process.', 'gpu.'))) continue;
      }
      const row = systemGauge(`system.${tag}`, value);
      if (row === null) continue;
      this.emit(row, label !== null && nodes.has(label) ? { ...place, host: label } : place);
    }
  }

  /** The run's process, or a child of it, uses this device: the only content of the copies. */
  private inUse(device: number, place: LogPlace): void {
    if (this.devicesInUse.has(device)) return;
    this.devicesInUse.add(device);
    this.emit(figure('process.device', device, null, device), place);
  }
}

/**
 * Labels of a record that name nodes: a DCGM exporter appends its node's name to every key. A writer appends a label of
 * its user's choice in the same way, but one and the same to all.
 */
function nodesOf(tags: ReadonlySet<string>): ReadonlySet<string> {
  const labels = new Set<string>();
  let isExporter = false;
  for (const tag of tags) {
    const { name, label } = splitSystemLabel(tag);
    if (label === null) continue;
    labels.add(label);
    isExporter ||= OF_EXPORTER.test(name);
  }
  return isExporter || labels.size > 1 ? labels : new Set();
}

/**
 * Megatron-LM passes all its arguments, among them those from torchrun: `rank`, `local_rank`, `world_size`. A `rank`
 * alone may be that of a LoRA.
 */
function rankOfConfig(items: readonly Item[]): KnownRank {
  const integerSetting = (key: string): number | undefined => {
    const json = items.find(({ path }) => path.length === 1 && path[0] === key)?.json;
    return json !== undefined && /^\d{1,6}$/.test(json) ? Number(json) : undefined;
  };
  const rank = integerSetting('rank');
  const worldSize = integerSetting('world_size');
  if (rank === undefined || worldSize === undefined || integerSetting('local_rank') === undefined) return null;
  return rank < worldSize ? { rank, origin: 'wandb config: rank' } : null;
}
