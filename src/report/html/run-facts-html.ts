/** What a reader of an issue asks first, in the head of the page. What is unknown is left out. Pure. */
import type { ReportFacts } from '../../model/results/report.js';
import * as d from '../document/document.js';
import { partsHtml } from '../render/html.js';
import { logFacts } from '../run/log-document.js';
import { plain, rankName } from '../text-pieces.js';
import { type Child, element } from './html.js';

/** Characters of a text of an error that is not folded. */
const SHORT_ERROR = 700;

export const runFactsHtml = (runs: readonly ReportFacts[]): Child =>
  runs.map((run) => {
    const shown = d.parts([
      d.facts([...logFacts(run), modelFact(run)]),
      ...run.errors.map(({ file, line, rank, text }) =>
        d.section(
          d.t`Error${rank === null ? '' : ` of ${rankName(rank)}`}, ${d.code(file)} line ${line}`,
          { isFolded: text.length > SHORT_ERROR },
          d.quote(text.split('\n')),
        ),
      ),
    ]);
    if (shown.length === 0) return null;
    return element('div', { class: 'run-facts' }, partsHtml(runs.length > 1 ? [named(run, shown)] : shown));
  });

const named = ({ run }: ReportFacts, shown: readonly d.Part[]): d.Section => d.section(run, {}, ...shown)!;

/** The module of a class is left out. */
function modelFact({ model: { name, sizes } }: ReportFacts): d.Fact | null {
  const texts = [
    name !== null && (/^[\w.]+\.([A-Za-z]\w*)$/.exec(name)?.[1] ?? name),
    ...Object.entries(sizes).map(([key, size]) => d.t`${plain(key)} ${size}`),
  ].filter((text) => text !== false);
  return texts.length === 0 ? null : d.fact('model', d.joined(texts, ' · '));
}
