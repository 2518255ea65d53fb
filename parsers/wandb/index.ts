/** Runs of Weights & Biases: the transaction log, and the JSON files in its folder. See FORMAT.md. */
import type { Head, ParserSpec, Sniff } from '../../src/model/parser.js';

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

/** `:W&B` and 0xBEE1 in little endian. */
const MAGIC = ':W&B\xe1\xbe';
const LOG_NAME = /^run-[\w.-]{1,128}\.wandb$/i;
const JSON_NAME = /(?:^|[._-])wandb-(metadata|summary)\.json$/i;

/** What a file of a run directory holds; null if it is none of the three. */
function kindOf(name: string): 'log' | 'metadata' | 'summary' {
  const match = JSON_NAME.exec(name);
  if (match === null) return 'log';
  return match[1]!.toLowerCase() === 'metadata' ? 'metadata' : 'summary';
}

function sniff({ bytes, name }: Head): Sniff {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 4096)).toString('latin1');
  if (head.startsWith(MAGIC)) return { score: 1, why: 'begins as the transaction log of a W&B run' };
  const kind = kindOf(name);
  if (kind !== 'log' && /^\s{0,64}\{\s{0,64}(?:"|\}|$)/.test(head)) {
    return { score: 0.98, why: `an object in JSON, named like the ${kind} of a W&B run` };
  }
  if (LOG_NAME.test(name) && bytes.length > 0) {
    return { score: 0.5, why: 'named like the transaction log of a W&B run, though it begins as none' };
  }
  return { score: 0, why: 'no transaction log of W&B, nor a file next to it' };
}
