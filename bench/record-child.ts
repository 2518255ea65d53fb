/**
 * Writes a recording made by the model: a process of its own, for it holds the whole snapshot. Arguments: entries,
 * file, and optionally a seed.
 */
import { writeFileSync } from 'node:fs';
import { recordTraining } from './recorded-training.js';

const [, , entries, file, seed] = process.argv;
writeFileSync(file!, recordTraining(Number(entries), seed === undefined ? undefined : Number(seed)));
