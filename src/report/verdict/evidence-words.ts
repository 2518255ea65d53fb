/** The sentence of each kind of evidence. */
import { loadData } from '../../knowledge/load-data.js';
import type { Figures } from '../../model/statement.js';
import type { Evidence } from '../../model/verdict.js';
import { fill, wordsOf } from '../words/fill.js';

export function evidenceText({ kind, ...figures }: Evidence): string {
  if (kind === 'failing_site') return `${siteText(figures)}${fill('[ (`{code}`)]', figures)}`;
  return fill(wordsOf(loadData('words/evidence') as Readonly<Record<string, string>>, kind), figures);
}

/** `failed in forward mlp.py:31, while running an MLP; one tensor of 30.56 GiB`. */
export function siteText(figures: Figures): string {
  const { site, activity, outcome, size } = figures.names;
  const rank = fill('[rank {of_rank} ]', figures);
  const where = site === undefined ? [] : [`${rank}failed in ${site}`];
  const doing = activity === undefined ? [] : [fill('while {activity:sites}', figures)];
  const what =
    where.length === 0 && doing.length > 0
      ? [`failed ${doing[0]}`]
      : where.length > 0
        ? [[...where, ...doing].join(', ')]
        : [];
  const warned =
    outcome === undefined
      ? []
      : [
          `a warning: training goes on${activity === 'checkpoint_save' ? ', and the saved file may be incomplete' : ''}`,
        ];
  const sizes = size === undefined ? [] : [fill('{size:sizes}', figures)];
  return [...what, ...warned, ...sizes].join('; ');
}
