/**
 * Advice: what to do with the lines to paste, every alternative with its price, what is forbidden and why, and what
 * will not help.
 */

import type { AdviceFix, AdviseResult, PasteForm, PasteLines } from '../../model/results/advise.js';
import * as d from '../document/document.js';
import { evidenceTable } from '../knowledge/explain-document.js';
import { costSource, percentText, savingWords } from '../verdict/action-words.js';
import { causeName, wordOf } from '../words/fill.js';

export interface AdviseLook {
  /** Forms of the lines to paste. */
  readonly paste: readonly PasteForm[];
  /** One fix in full instead of the page. */
  readonly fix?: string | undefined;
}

export function adviseDocument(result: AdviseResult, look: AdviseLook): d.Document {
  const { schema, fixes, non_fixes: nonFixes, symptoms, limits } = result;
  const chosen = fixes.find(({ id }) => id === look.fix);
  if (chosen !== undefined) return fixDocument(schema, chosen, look.paste);
  const { run, rank, cause, detail, confidence, shortfall_bytes: shortfall } = result;
  const verdict = `${causeName(cause)}${detail === null ? '' : ` (${causeName(detail)})`}`;
  const isSure = cause !== 'undecided' && cause !== 'not_oom';
  return {
    ...d.document(
      schema,
      d.joined(
        [
          `Advice: ${verdict}${isSure ? `, confidence ${confidence}` : ''}`,
          rank !== null && `rank ${rank}`,
          d.t`run ${d.as('run', d.code(run))}`,
        ],
        ' · ',
      ),
      d.paragraph(result.summary, { key: 'summary' }),
      d.facts([
        shortfall !== null && d.fact('short_by', d.t`${d.bytes(shortfall)}: ${result.shortfall_text}`),
        result.to_come_bytes !== 0 && d.fact('to_come', result.to_come_text),
        result.published_case !== null && d.fact('workload', `the published one: ${result.published_case}`),
      ]),
      ...actionSections(result, look.paste),
      fixTable(fixes),
      d.itemSection(
        'Forbidden by this configuration',
        'forbidden',
        fixes
          .filter(({ status }) => status === 'forbidden')
          .map(({ id, forbidden_text: why }) => d.t`${d.code(id)}: ${why ?? ''}`),
      ),
      d.itemSection(
        'Will not help',
        'non_fixes',
        nonFixes.map(
          ({ title, why, evidence }) => `${title}: ${why}${evidence.map(({ text }) => ` Measured: ${text}.`).join('')}`,
        ),
        { isFolded: true },
      ),
      d.itemSection(
        'Symptoms of the guides that this run shows',
        'symptoms',
        symptoms.map(
          ({ id, symptom, seen, confirmation, confirmation_text: how, fix }) =>
            `${id} ${symptom}: ${seen}. ${confirmation}: ${how}. Fix: ${fix}`,
        ),
        { isFolded: true },
      ),
      d.itemSection('Not known', 'limits', limits, { isFolded: true }),
    ),
    fields: { rank, cause, detail, confidence, shortfall_bytes: shortfall, to_come_bytes: result.to_come_bytes },
  };
}

function actionSections(
  { plan, actions, fixes, cause, next }: AdviseResult,
  forms: readonly PasteForm[],
): d.MaybePart[] {
  if (actions.length === 0)
    return [
      d.paragraph(
        cause === 'not_oom'
          ? 'no memory ran out: there is nothing to save'
          : 'name the logs of all ranks and of the launcher, and a snapshot dumped at the OOM',
      ),
    ];
  return actions.map(({ fixes: ids }, i) => {
    const chosen = fixes.filter(({ id }) => ids.includes(id));
    const lines = plan?.paste ?? chosen[0]?.paste;
    const cost = plan?.cost_percent ?? null;
    return d.section(
      actions.length === 1 ? 'Do' : i === 0 ? 'Do first' : 'Then',
      { key: 'next', isOneOf: true, fields: { fixes: ids } },
      d.paragraph(next[i] ?? '', { key: 'text' }),
      d.items(
        chosen.flatMap(({ requires }) => requires.map((text) => `needs: ${text}`)),
        { key: 'requires' },
      ),
      plan !== null &&
        chosen.length > 1 &&
        d.note(`${plan.text}${cost === null ? '' : `; together ${percentText(cost)}`}`),
      ...(chosen.length === 0 || lines === undefined ? [] : pasteSections(lines, forms)),
    );
  });
}

const pasteTitle = wordOf('codes', 'paste_forms');

const pasteSections = (lines: PasteLines, forms: readonly PasteForm[]): d.MaybePart[] =>
  forms.map((form) => {
    const isShell = form === 'sbatch' || form === 'megatron_lm' || form === 'trainer';
    return d.section(pasteTitle(form), {}, d.paste(lines[form], { key: form, language: isShell ? 'sh' : 'python' }));
  });

function fixTable(fixes: readonly AdviceFix[]): d.MaybePart {
  const open = fixes.filter(({ status }) => status !== 'forbidden');
  const isUnsure = (fix: AdviceFix): boolean => fix.status === 'conditional';
  return d.section(
    'Fixes, in the order to try them',
    {},
    d.table(
      open,
      [
        d.names('id', ({ id }) => id, { title: 'fix' }),
        d.column('saving_bytes', (fix) => fix.saving_bytes, { title: 'saves' }),
        d.column('saving_by', ({ saving_by: by }) => (by === 'attribution' ? 'of live' : savingWords(by)), {
          title: 'known by',
        }),
        d.column('throughput', ({ cost_percent: cost }) => (cost === null ? null : -cost / 100), {
          unit: 'change_share',
        }),
        d.column('cost_by', costSource, { title: 'known by' }),
        d.column('closes', (fix) => (isUnsure(fix) ? 'unsure' : fix.closes), { title: 'enough' }),
      ],
      { key: 'fixes', notes: [open.some(isUnsure) && 'unsure: depends on missing information'] },
    ),
  );
}

function fixDocument(schema: string, fix: AdviceFix, forms: readonly PasteForm[]): d.Document {
  const { id, status, title, closes, saving_bytes: saving, cost_percent: cost, forbidden_text: forbidden } = fix;
  const enough = closes === null ? '' : closes ? ', which is enough' : ', which is not enough';
  const saves: d.Text =
    saving === null || saving <= 0 ? fix.saving_text : d.t`${d.bytes(saving)}${enough} (${fix.saving_text})`;
  const costs =
    cost === null
      ? fix.cost_text
      : `${percentText(cost)} (${costSource(fix)})${fix.cost_text === 'none' ? '' : `: ${fix.cost_text}`}`;
  return d.document(
    schema,
    d.t`Fix ${d.as('id', d.code(id))}: ${d.as('status', status)}`,
    d.paragraph(title, { key: 'title' }),
    d.facts([
      forbidden !== null && d.fact('forbidden', forbidden),
      d.fact('saves', saves),
      d.fact('costs', costs),
      fix.requires.length > 0 && d.fact('needs', fix.requires.join('; ')),
      d.fact('source', fix.source),
    ]),
    evidenceTable(fix.evidence),
    d.itemSection('Disputed', 'disputes', fix.disputes),
    ...pasteSections(fix.paste, forms),
  );
}
