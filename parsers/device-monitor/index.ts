/** What nvidia-smi and DCGM print of a node's devices. See FORMAT.md. */
import { MbfError } from '../../src/model/errors.js';
import type { ByteSource, ParseContext, ParserSpec, ParseSummary, RowSink } from '../../src/model/parser.js';
import { type JsonDamage, noteDamage, readJsonItems } from '../../src/text/json-items.js';
import { precededBy, readHead } from '../../src/text/stream-head.js';
import { readLines } from '../../src/text/text-lines.js';
import type { LineReader } from './line-reader.js';
import { DcgmiReader, DmonReader } from './read-columns.js';
import { CsvReader, headerless } from './read-csv.js';
import { objectTaker, prometheusTaker } from './read-json.js';
import { PrometheusReader } from './read-prometheus.js';
import { ReportTextReader } from './read-report-text.js';
import { ReportXmlReader } from './read-report-xml.js';
import { SampleWriter } from './sample-writer.js';
import { type Recognised, recogniseMonitor, sniffMonitor } from './sniff.js';

export const deviceMonitor: ParserSpec = {
  id: 'device-monitor',
  title: 'samples of nvidia-smi or DCGM',
  sniff: sniffMonitor,
  parse,
};

async function parse(source: ByteSource, sink: RowSink, context: ParseContext): Promise<ParseSummary> {
  const bytes = await readHead(source);
  const sizeBytes = source.sizeBytes ?? bytes.length;
  const recognised = recogniseMonitor({ bytes, name: context.name, sizeBytes });
  if (recognised === null) throw new MbfError('MBF2931', 'is not output of nvidia-smi or DCGM');
  if (recognised.form === 'nvidia-smi.csv-headerless') throw headerless();
  const input = precededBy(bytes, source);
  const writer = new SampleWriter(sink, recognised.form);
  const damage =
    recognised.form === 'dcgm-exporter.query' || recognised.form === 'nvidia-smi.json'
      ? await readDocuments(recognised, input, writer, context)
      : await readSamples(recognised, input, writer, context);
  noteDamage(damage, writer.samples === 0, 'MBF2931', 'monitor_damaged', sink);
  if (writer.samples === 0) {
    const text = 'holds no sample of a device: the requested values were not available, or nothing was printed';
    sink.note({ kind: 'monitor_empty', severity: 'warning', text });
  }
  writer.end();
  return { rank: null, rankOrigin: null, clock: writer.clock };
}

function readDocuments(
  { form }: Recognised,
  source: ByteSource,
  writer: SampleWriter,
  context: ParseContext,
): Promise<JsonDamage | null> {
  return form === 'dcgm-exporter.query'
    ? readJsonItems(source, ['data.result'], prometheusTaker(writer), context.progress)
    : readJsonItems(source, [''], objectTaker(writer), context.progress);
}

async function readSamples(
  recognised: Recognised,
  source: ByteSource,
  writer: SampleWriter,
  context: ParseContext,
): Promise<null> {
  const reader = lineReader(recognised, writer);
  await readLines(source, (text, line, offset, isWhole) => reader.take(text, line, offset, isWhole), context.progress);
  reader.end();
  return null;
}

function lineReader({ form, guessed }: Recognised, writer: SampleWriter): LineReader {
  switch (form) {
    case 'nvidia-smi.report':
      return new ReportTextReader(writer);
    case 'nvidia-smi.xml':
      return new ReportXmlReader(writer);
    case 'nvidia-smi.dmon':
    case 'nvidia-smi.pmon':
      return new DmonReader(writer);
    case 'dcgmi.dmon':
      return new DcgmiReader(writer);
    case 'dcgm-exporter.text':
      return new PrometheusReader(writer);
    case 'nvidia-smi.json-lines':
      return jsonLines(writer);
    default:
      return new CsvReader(writer, guessed);
  }
}

/** One object a line: a damaged line costs no other. */
function jsonLines(writer: SampleWriter): LineReader {
  const taker = objectTaker(writer);
  return {
    take(text, line, offset) {
      if (text.trim() === '') return;
      let value: unknown;
      try {
        value = JSON.parse(Buffer.from(text, 'latin1').toString('utf8'));
      } catch {
        writer.odd('monitor_foreign', line, offset);
        return;
      }
      taker.document(value, { line, offset });
    },
    end() {},
  };
}
