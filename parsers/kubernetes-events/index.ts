/** What Kubernetes reports about pods and nodes: events, pods, describe. See FORMAT.md. */
import { MbfError } from '../../src/model/errors.js';
import type { ByteSource, ParseContext, ParserSpec, ParseSummary, RowSink } from '../../src/model/parser.js';
import { type JsonPlace, noteDamage, readJsonItems } from '../../src/text/json-items.js';
import { precededBy, readHead } from '../../src/text/stream-head.js';
import { readLines } from '../../src/text/text-lines.js';
import { ClusterWriter } from './cluster-writer.js';
import { DescribeReader, EventsTableReader } from './read-tables.js';
import { loadYaml, YamlReader } from './read-yaml.js';
import { recogniseCluster, sniffCluster } from './sniff.js';
import { takeObject } from './take-object.js';

export const kubernetesEvents: ParserSpec = {
  id: 'kubernetes-events',
  title: 'events and pods of Kubernetes (kubectl)',
  buildsTree: true,
  sniff: sniffCluster,
  parse,
};

const BAD_OBJECTS = 'objects that are not valid YAML, or too large';
async function parse(source: ByteSource, sink: RowSink, context: ParseContext): Promise<ParseSummary> {
  const head = await readHead(source);
  const recognised = recogniseCluster({ bytes: head, name: context.name, sizeBytes: source.sizeBytes ?? head.length });
  if (recognised === null) throw new MbfError('MBF2951', 'is not a list of Kubernetes events or pods');
  const input = precededBy(head, source);
  const writer = new ClusterWriter(sink, recognised.form);
  if (recognised.form === 'kubernetes.json') {
    const take = (value: unknown, place: JsonPlace): void => void takeObject(value, place, writer);
    const damage = await readJsonItems(input, ['items'], { item: take, document: take }, context.progress);
    noteDamage(damage, writer.objects === 0, 'MBF2951', 'kubernetes_damaged', sink);
  } else if (recognised.form === 'kubernetes.yaml') {
    const reader = new YamlReader(writer, await loadYaml());
    await readLines(input, (text, line, offset) => reader.take(text, line, offset), context.progress);
    reader.end();
    const damagedAt = writer.oddities.first('kubernetes_damaged');
    if (damagedAt !== undefined && writer.objects === 0) throw new MbfError('MBF2951', BAD_OBJECTS, damagedAt);
    for (const note of writer.oddities.notes()) sink.note(note);
  } else {
    const reader =
      recognised.form === 'kubernetes.describe' ? new DescribeReader(writer) : new EventsTableReader(writer);
    await readLines(input, (text, line, offset, isWhole) => reader.take(text, line, offset, isWhole), context.progress);
    reader.end();
    for (const note of writer.oddities.notes()) sink.note(note);
    const text = 'events have ages instead of times, relative to the unknown time of the command; use -o json';
    sink.note({ kind: 'kubernetes_ages', severity: 'info', text });
  }
  writer.end();
  if (writer.objects === 0) {
    const text = 'holds no event and no pod: events are gone after an hour, and pods when they are deleted';
    sink.note({ kind: 'kubernetes_empty', severity: 'warning', text });
  }
  return { rank: null, rankOrigin: null, clock: 'utc' };
}
