/** Runs of Weights & Biases: the transaction log, and the JSON files in its folder. See FORMAT.md. */
import type { ParserSpec } from '../../src/model/parser.js';
import { kindOf, sniff } from './sniff.js';

export const wandbRun: ParserSpec = {
  id: 'wandb',
  title: 'run of Weights & Biases',
  sniff,
  async parse(source, sink, context) {
    const kind = kindOf(context.name);
    if (kind === 'log') return (await import('./read-log.js')).readLog(source, sink, context);
    const { readMetadata, readSummary } = await import('./read-json.js');
    return (kind === 'metadata' ? readMetadata : readSummary)(source, sink, context);
  },
};
