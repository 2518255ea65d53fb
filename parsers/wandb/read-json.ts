/** `wandb-metadata.json` and `wandb-summary.json`: the files of a run in addition to its log. */

import { type Literal, readLiteralAt } from '../../src/knowledge/literal.js';
import { MbfError } from '../../src/model/errors.js';
import { plainPlace, rankFields, type ValueFinding } from '../../src/model/log-rows.js';
import type { ByteSource, ParseContext, ParseSummary, RowSink } from '../../src/model/parser.js';
import { GIB } from '../../src/model/units.js';
import { type DeviceFacts, type EnvironmentFacts, environmentFacts, rankOfSlurm } from './environment.js';
import { eachNumberOf, numberOf } from './json-numbers.js';
import { timeUs } from './proto-fields.js';

/** A summary with a histogram for every parameter has some. */
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_FIGURES = 20_000;
/** No host has a million GiB, and none has less than a million bytes. */
const LEAST_HOST_BYTES = 1e6;

type Map_ = Extract<Literal, { kind: 'map' }>;

export async function readMetadata(source: ByteSource, sink: RowSink, context: ParseContext): Promise<ParseSummary> {
  const tree = await readObject(source, sink, context);
  const facts = metadataFacts(tree);
  const known = { host: facts.host === '' ? null : facts.host, timeUs: facts.startedUs, format: 'wandb.metadata' };
  const place = plainPlace({ line: 1, offset: 0, ...rankFields(rankOfSlurm(facts.slurm)), ...known });
  for (const fact of environmentFacts(facts)) {
    const device = 'device' in fact ? fact.device : undefined;
    sink.logRow(fact, device === undefined ? place : { ...place, device });
  }
  return { rank: place.rank, rankOrigin: place.rankOrigin, clock: 'utc' };
}

/** The last value of every figure, each of its own step: so they are values, and belong to no iteration. */
export async function readSummary(source: ByteSource, sink: RowSink, context: ParseContext): Promise<ParseSummary> {
  const tree = await readObject(source, sink, context);
  const written = timeUs(numberOf(text(tree, '_timestamp')) ?? 0);
  const place = plainPlace({ line: 1, offset: 0, timeUs: written, format: 'wandb.summary' });
  let figures = 0;
  for (const entry of tree.entries) {
    if (entry.key === '_wandb' || entry.key === '_timestamp') continue;
    eachNumberOf(entry.key, entry.value, (tag, value) => {
      figures += 1;
      if (figures > MOST_FIGURES) return;
      const finding: ValueFinding = { row: 'value', name: `summary.${tag.slice(0, 512)}`, value, unit: null };
      sink.logRow(finding, place);
    });
  }
  if (figures > MOST_FIGURES) {
    const note = `more than ${MOST_FIGURES} figures; the rest is counted, not kept`;
    sink.note({ kind: 'wandb_summary_dropped', severity: 'warning', text: note, count: figures - MOST_FIGURES });
  }
  return { rank: null, rankOrigin: null, clock: 'utc' };
}

async function readObject(source: ByteSource, sink: RowSink, context: ParseContext): Promise<Map_> {
  const chunks: Buffer[] = [];
  let length = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(64 * 1024);
    const count = await source.read(chunk, 0);
    if (count === 0) break;
    chunks.push(chunk.subarray(0, count));
    length += count;
    if (length > MOST_BYTES) throw new MbfError('MBF2912', `has more than ${MOST_BYTES} bytes`);
    context.progress?.(length);
  }
  const json = Buffer.concat(chunks, length).toString('utf8');
  const start = json.search(/[^\s\ufeff]/);
  if (start < 0 || json[start] !== '{') throw new MbfError('MBF2912', 'is not a JSON object', { offset: 0 });
  const { value, end, fault } = readLiteralAt(json, start);
  if (value.kind !== 'map') throw new MbfError('MBF2912', 'is not a JSON object', { offset: 0 });
  // A brace of its own closes it: what is cut off is read up to there.
  const at = fault?.at ?? (json[end - 1] === '}' ? null : json.length);
  if (at !== null) {
    const offset = Buffer.byteLength(json.slice(0, at));
    if (value.entries.length === 0) throw new MbfError('MBF2912', fault?.what ?? 'ends in the middle', { offset });
    const what = `no valid JSON from byte ${offset} on; what precedes it is read`;
    sink.note({ kind: 'json_error', severity: 'warning', text: what, offset });
  }
  return value;
}

function field(tree: Map_, ...names: readonly string[]): Literal | undefined {
  return tree.entries.find((entry) => names.includes(entry.key))?.value;
}

function text(tree: Map_, ...names: readonly string[]): string {
  const value = field(tree, ...names);
  return value?.kind === 'scalar' && (value.isQuoted || !/^(?:null|None)$/.test(value.text)) ? value.text : '';
}

function number(tree: Map_, ...names: readonly string[]): number {
  const value = numberOf(text(tree, ...names));
  return value === undefined || !Number.isFinite(value) ? 0 : value;
}

function part(tree: Map_, name: string): Map_ | undefined {
  const value = field(tree, name);
  return value?.kind === 'map' ? value : undefined;
}

/** Names of every generation: psutil's (0.10 to 0.18), and the JSON names of `EnvironmentRecord`. */
function metadataFacts(tree: Map_): EnvironmentFacts {
  const git = part(tree, 'git');
  const memory = part(tree, 'memory');
  const args = field(tree, 'args');
  const slurm = part(tree, 'slurm');
  return {
    host: text(tree, 'host'),
    python: text(tree, 'python'),
    program: text(tree, 'program'),
    gpuType: text(tree, 'gpu'),
    cudaDriver: text(tree, 'cudaVersion', 'cuda_version', 'cuda'),
    commit: git === undefined ? '' : text(git, 'commit'),
    startedUs: timeOf(text(tree, 'startedAt', 'started_at')),
    cpus: number(tree, 'cpu_count_logical') || number(tree, 'cpu_count'),
    gpus: number(tree, 'gpu_count'),
    memoryBytes: memory === undefined ? 0 : hostBytes(number(memory, 'total')),
    devices:
      ['gpu_nvidia', 'gpu_amd', 'gpu_devices'].map((name) => devicesOf(tree, name)).find((list) => list.length > 0) ??
      [],
    args: args?.kind === 'list' ? args.items.flatMap((item) => (item.kind === 'scalar' ? [item.text] : [])) : [],
    slurm: new Map(
      (slurm?.entries ?? []).flatMap(({ key, value }) => (value.kind === 'scalar' ? [[key, value.text] as const] : [])),
    ),
  };
}

/** Bytes as text since wandb-core (0.17); before, a number of GiB. */
function hostBytes(total: number): number {
  return total < LEAST_HOST_BYTES ? Math.round(total * GIB) : total;
}

function devicesOf(tree: Map_, name: string): DeviceFacts[] {
  const list = field(tree, name);
  if (list?.kind !== 'list') return [];
  return list.items.flatMap((item, index): DeviceFacts[] => {
    if (item.kind !== 'map') return [];
    const totalBytes = number(item, 'memoryTotal', 'memory_total');
    // A list of a DCGM exporter has neither sizes nor order.
    const isOrdered = totalBytes > 0 || name !== 'gpu_nvidia';
    return [
      {
        device: isOrdered ? index : null,
        name: text(item, 'name', 'series'),
        totalBytes,
        uuid: text(item, 'uuid', 'uniqueId', 'unique_id'),
      },
    ];
  });
}

/** UTC in every generation, with a `Z` since wandb-core. */
function timeOf(iso: string): number | null {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z?$/.exec(iso);
  if (match === null) return null;
  const ms = Date.parse(`${match[1]}Z`);
  if (Number.isNaN(ms)) return null;
  return ms * 1000 + Number((match[2] ?? '').padEnd(6, '0').slice(0, 6));
}
