/**
 * Writes a recording made by the model: a process of its own, for it holds the whole snapshot. Arguments: entries,
 * file.
 */
import { writeFileSync } from 'node:fs';
import { recordTraining } from './recorded-training.js';

const [, , entries, file] = process.argv;
writeFileSync(file!, recordTraining(Number(entries)));
