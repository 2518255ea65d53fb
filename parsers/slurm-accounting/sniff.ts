import type { Head, Sniff } from '../../src/model/parser.js';
import { MOST_FOREIGN, mostAre, textOfHead } from '../../src/text/stream-head.js';
import { isSeffLine, SEFF_BEGIN } from './read-seff.js';
import { fixedHeader, guessShape, isRow, parsableHeader, type TableShape } from './read-table.js';

/** What a file turned out to be; also the id of the format in its rows. */
export type AccountingForm = 'slurm.sacct' | 'slurm.sacct-json' | 'slurm.seff';

export interface Recognised extends Sniff {
  readonly form: AccountingForm;
  /** Columns of a table without its header. */
  readonly guessed: TableShape | null;
}

const SURE = 0.97;
const LIKELY = 0.95;
const MOST_BEFORE = 4;

/** Recognises accounting by its header, or its JSON by keys that only it has. Null: it is none. Never throws. */
export function recogniseAccounting(head: Head): Recognised | null {
  const { text, filled } = textOfHead(head, 'utf8');
  const first = filled[0];
  if (first === undefined) return null;
  if (first.trimStart().startsWith('{')) return json(text);
  return table(filled) ?? seff(filled);
}

function recognised(form: AccountingForm, score: number, why: string, guessed: TableShape | null = null): Recognised {
  return { form, score, why, guessed };
}

/** `squeue --json` and `scontrol --json` have jobs too, with other keys. */
function json(text: string): Recognised | null {
  const has = (key: string): boolean => text.includes(`"${key}"`);
  const isSacct =
    has('jobs') &&
    has('job_id') &&
    has('exit_code') &&
    has('association') &&
    (has('tres') || has('steps') || has('required'));
  return isSacct && !has('job_state')
    ? recognised('slurm.sacct-json', SURE, 'It is accounting of Slurm: sacct --json.')
    : null;
}

function table(lines: readonly string[]): Recognised | null {
  for (let i = 0; i < Math.min(lines.length, MOST_BEFORE); i += 1) {
    const fixed = lines[i + 1] === undefined ? null : fixedHeader(lines[i]!, lines[i + 1]!);
    const shape = parsableHeader(lines[i]!) ?? fixed;
    if (shape === null) continue;
    const rows = lines.slice(i + (shape.spans === null ? 1 : 2));
    // sacct itself prints no second header, but a file may hold several tables.
    const isOurs = (line: string): boolean =>
      isRow(line, shape) || parsableHeader(line) !== null || /^\s{0,8}(?:JobID\b|-{3,400} )/.test(line);
    const foreign = rows.filter((line) => !isOurs(line)).length + i;
    if (foreign > Math.max(1, MOST_FOREIGN * lines.length)) return null;
    return recognised('slurm.sacct', SURE, `It is accounting of Slurm: ${lines[i]!.trim().slice(0, 80)}`);
  }
  const guessed = guessShape(lines);
  return guessed === null
    ? null
    : recognised('slurm.sacct', LIKELY, 'Its rows are those of sacct, without their header.', guessed);
}

function seff(lines: readonly string[]): Recognised | null {
  if (!SEFF_BEGIN.test(lines[0]!) || !lines.some((line) => /^State: [A-Z_]{3,24}/.test(line))) return null;
  return mostAre(lines, (line) => isSeffLine(line.trimEnd()))
    ? recognised('slurm.seff', SURE, 'It is a summary of seff.')
    : null;
}

export function sniffAccounting(head: Head): Sniff {
  return recogniseAccounting(head) ?? { score: 0, why: 'It is not Slurm accounting.' };
}
