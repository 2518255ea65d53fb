/** Event files and logs of records: texts are replaced at any depth and length, and every checksum holds. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tensorboardEvents } from '../../parsers/tensorboard/index.js';
import { wandbRun } from '../../parsers/wandb/index.js';
import { eventFile } from '../../samples/generate/write/monitor/event-file.js';
import type { ParserSpec } from '../../src/model/parser.js';
import { rewriteLog, rewriteRecords } from '../../src/redact/rewrite-records.js';
import { repoRoot } from '../store/scratch.js';
import { placedRows } from '../support/collect-rows.js';
import { bytesSource } from '../support/decode.js';

const NAME = 'zorblatt';
const REPLACEMENT = 'bcdfghjkl';
const long = (length: number): string => `${'/data/part '.repeat(length)}of ${NAME}`;
const EVENTS = eventFile(
  1,
  [0, 10, 1_500].map((length, i) => ({ name: `${NAME}-${i}`, text: long(length), timeUs: i })),
  [{ tag: `loss of ${NAME}`, value: 2, step: 1, timeUs: 1 }],
);
const LOG = readFileSync(join(repoRoot, 'test', 'fixtures', 'wandb', 'gpu-node', 'run-g7n0de42.wandb'));

it.each<[string, typeof rewriteRecords, ParserSpec, Buffer, name: string]>([
  ['TensorBoard', rewriteRecords, tensorboardEvents, EVENTS, NAME],
  ['W&B', rewriteLog, wandbRun, LOG, 'node-0002'],
])('%s', async (_, rewriting, parser, bytes, name) => {
  const replacement = REPLACEMENT.slice(0, name.length);
  const pieces: Uint8Array[] = [];
  const write = (piece: Uint8Array): void => void pieces.push(Buffer.from(piece));
  await rewriting(bytesSource(bytes), write, (text) => text.replaceAll(name, replacement));
  const after = Buffer.concat(pieces);
  expect(after.length).toBe(bytes.length);
  expect(bytes.includes(name)).toBe(true);
  expect(after.includes(name)).toBe(false);
  const read = (content: Buffer) => placedRows(parser, bytesSource(content), 'events.out.tfevents.1.h');
  const before = await read(bytes);
  expect(before.rows.length).toBeGreaterThan(0);
  expect(JSON.stringify(await read(after))).toBe(JSON.stringify(before).replaceAll(name, replacement));
});
