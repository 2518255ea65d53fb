/** The sentence of each step. */
import { loadData } from '../../knowledge/load-data.js';
import type { Step } from '../../model/verdict.js';
import { fill, wordsOf } from '../words/fill.js';

export function stepText({ kind, status, because, ...figures }: Step): string {
  if (status === 'forbidden') return `expandable_segments:True would help, but ${because!.text} (${because!.source})`;
  const text = fill(wordsOf(loadData('words/steps') as Readonly<Record<string, string>>, kind), figures);
  if (status === 'proven') return `${text}; replayed: ${fill('{replayed}', figures)}`;
  return `${text}${fill('[{or?}; expandable_segments:True makes it unnecessary]', figures)}`;
}
