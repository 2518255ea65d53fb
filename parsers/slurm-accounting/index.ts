/** What Slurm kept of jobs after they ended: sacct and seff. See FORMAT.md. */
import { MbfError } from '../../src/model/errors.js';
import type { ByteSource, ParseContext, ParserSpec, ParseSummary, RowSink } from '../../src/model/parser.js';
import { noteDamage, readJsonItems } from '../../src/text/json-items.js';
import { precededBy, readHead } from '../../src/text/stream-head.js';
import { readLines } from '../../src/text/text-lines.js';
import { JobWriter } from './job-writer.js';
import { jobsTaker } from './read-json.js';
import { SeffReader } from './read-seff.js';
import { TableReader } from './read-table.js';
import { recogniseAccounting, sniffAccounting } from './sniff.js';

export const slurmAccounting: ParserSpec = {
  id: 'slurm-accounting',
  title: 'accounting of Slurm (sacct, seff)',
  buildsTree: true,
  sniff: sniffAccounting,
  parse,
};

async function parse(source: ByteSource, sink: RowSink, context: ParseContext): Promise<ParseSummary> {
  const head = await readHead(source);
  const recognised = recogniseAccounting({
    bytes: head,
    name: context.name,
    sizeBytes: source.sizeBytes ?? head.length,
  });
  if (recognised === null) throw new MbfError('MBF2941', 'is not Slurm accounting');
  const input = precededBy(head, source);
  const writer = new JobWriter(sink, recognised.form);
  if (recognised.form === 'slurm.sacct-json') {
    const damage = await readJsonItems(input, ['jobs'], jobsTaker(writer), context.progress);
    writer.end();
    noteDamage(damage, writer.jobs === 0, 'MBF2941', 'slurm_damaged', sink);
  } else {
    const reader =
      recognised.form === 'slurm.seff' ? new SeffReader(writer) : new TableReader(writer, recognised.guessed);
    await readLines(input, (text, line, offset, isWhole) => reader.take(text, line, offset, isWhole), context.progress);
    if (reader instanceof SeffReader) reader.end();
    writer.end();
    if (recognised.guessed !== null) {
      const text = 'has no header line; only job, state and exit code are recognised, the other columns were left out';
      sink.note({ kind: 'slurm_guessed_header', severity: 'warning', text });
    }
    for (const note of writer.oddities.notes()) sink.note(note);
  }
  if (writer.jobs === 0) {
    const text = 'holds no job: sacct lists those since midnight only, unless an option changes that (-S, -j)';
    sink.note({ kind: 'slurm_empty', severity: 'warning', text });
  }
  return { rank: null, rankOrigin: null, clock: recognised.form === 'slurm.sacct-json' ? 'utc' : 'printed' };
}
