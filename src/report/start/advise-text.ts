/**
 * Advice as a page: what to do with the lines to paste, every alternative with its price, what is forbidden and why,
 * and what will not help.
 */
import type {
  AdviceFix,
  AdvicePlan,
  AdviseResult,
  NonFix,
  PasteLines,
  SymptomHit,
} from '../../model/results/advise.js';
import { formatBytes } from '../../model/units.js';
import { printable } from '../plain-text.js';
import { left, right, tableOf } from '../table.js';
import { labelled, paragraph, plain, titled, wrapped } from '../text-pieces.js';
import { costSource, percentText, savingWords } from '../verdict/action-words.js';

export interface AdviseTextOptions {
  /** Frameworks whose lines are printed; the launch script's always are. */
  readonly paste: readonly (keyof PasteLines)[];
  /** One fix in full instead of the page. */
  readonly fix?: string | undefined;
}

const PASTE_WORDS: Readonly<Record<keyof PasteLines, string>> = {
  sbatch: 'launch script',
  megatron_bridge: 'Megatron Bridge',
  megatron_lm: 'Megatron-LM',
  nemo: 'NeMo',
  trainer: 'settings of the trainer',
  python: 'training script',
};

export function adviseText(result: AdviseResult, options: AdviseTextOptions): string {
  const chosenFix = options.fix === undefined ? undefined : result.fixes.find(({ id }) => id === options.fix);
  if (chosenFix !== undefined) return `${fixLines(chosenFix, options).join('\n')}\n`;
  return `${[
    ...headLines(result),
    ...doLines(result, options),
    ...tableLines(result),
    ...forbiddenLines(result.fixes),
    ...nonFixLines(result.non_fixes),
    ...symptomLines(result.symptoms),
    ...titled(
      'not known',
      result.limits.flatMap((item) => paragraph(`  · ${printable(item)}`)),
    ),
  ].join('\n')}\n`;
}

function headLines(result: AdviseResult): string[] {
  const { cause, detail, confidence, rank, run } = result;
  const verdict = `${plain(cause)}${detail === null ? '' : ` (${plain(detail)})`}`;
  const sure = cause === 'undecided' || cause === 'not_oom' ? '' : `, confidence ${confidence}`;
  const where = rank === null ? '' : ` · rank ${rank}`;
  const short =
    result.shortfall_bytes === null
      ? []
      : labelled('short by', `${formatBytes(result.shortfall_bytes)}: ${result.shortfall_text}`);
  return [
    `ADVICE   ${verdict}${sure}${where} · run ${printable(run)}`,
    ...wrapped(`         ${printable(result.summary)}`, '         '),
    ...(short.length + result.to_come_bytes > 0 || result.published_case !== null ? [''] : []),
    ...short,
    ...(result.to_come_bytes === 0 ? [] : labelled('to come', result.to_come_text)),
    ...(result.published_case === null ? [] : labelled('workload', `the published one: ${result.published_case}`)),
  ];
}

function doLines(result: AdviseResult, options: AdviseTextOptions): string[] {
  const { plan, actions, fixes, cause, next } = result;
  if (cause === 'not_oom' && actions.length === 0) return ['', 'DO       no memory ran out: there is nothing to save'];
  const lines = actions.flatMap(({ fixes: ids }, i) => {
    const chosen = ids.flatMap((id) => fixes.filter((fix) => fix.id === id));
    const isPlan = plan !== null && chosen.length > 0;
    return [
      wrapped(`         ${printable(next[i]!)}`, '           '),
      ...chosen.flatMap((fix) =>
        fix.requires.map((text) => wrapped(`           needs: ${printable(text)}`, '             ')),
      ),
      ...(isPlan && chosen.length > 1 ? [wrapped(`           ${planText(plan)}`, '           ')] : []),
      ...(chosen.length === 0 ? [] : [pasteLinesOf(isPlan ? plan.paste : chosen[0]!.paste, options.paste)]),
    ].flat();
  });
  const [first = `         ${NOTHING_TO_DO}`, ...rest] = lines;
  return ['', `DO       ${first.slice(9)}`, ...rest];
}

const NOTHING_TO_DO = 'name the logs of all ranks and of the launcher, and a snapshot dumped at the OOM';

function planText({ text, cost_percent: cost }: AdvicePlan): string {
  return `${text}${cost === null ? '' : `; together ${percentText(cost)}`}`;
}

function gainText({ saving_bytes: bytes, saving_text: text, closes }: AdviceFix): string {
  const enough = closes === true ? ', which is enough' : closes === false ? ', which is not enough' : '';
  return `${bytes === null || bytes <= 0 ? '' : formatBytes(bytes)}${enough} (${printable(text)})`.replace(/^,? /, '');
}

function costText(fix: AdviceFix): string {
  const { cost_percent: cost, cost_text: text } = fix;
  return cost === null ? text : `${percentText(cost)} (${costSource(fix)})${text === 'none' ? '' : `: ${text}`}`;
}

function pasteLinesOf(paste: PasteLines, wanted: readonly (keyof PasteLines)[]): string[] {
  return wanted.flatMap((name) =>
    paste[name].length === 0 ? [] : [`  ${PASTE_WORDS[name]}`, ...paste[name].map((line) => `    ${printable(line)}`)],
  );
}

function tableLines({ fixes }: AdviseResult): string[] {
  const open = fixes.filter(({ status }) => status !== 'forbidden');
  if (open.length === 0) return [];
  return [
    '',
    'in the order to try them (* to do now, ? something that decides is unknown); cost: of throughput',
    tableOf(open, [
      left(
        '#',
        ({ rank, status }) => `${rank}${status === 'recommended' ? ' *' : status === 'conditional' ? ' ?' : ''}`,
      ),
      left('fix', ({ id }) => id),
      right('saves', ({ saving_bytes: bytes }) =>
        bytes === null ? '—' : bytes < 0 ? `−${formatBytes(-bytes)}` : formatBytes(bytes),
      ),
      left('known by', ({ saving_by: by }) => (by === 'attribution' ? 'of live' : savingWords(by) || '—')),
      right('cost', ({ cost_percent: cost }) =>
        cost === null ? '—' : `${cost < 0 ? '+' : cost === 0 ? '' : '−'}${Math.abs(cost)} %`,
      ),
      left('known by', (fix) => costSource(fix).replace(' × ', '×') || '—'),
      left('enough', ({ closes }) => (closes === null ? '—' : closes ? 'yes' : 'no')),
    ]),
  ];
}

function forbiddenLines(fixes: readonly AdviceFix[]): string[] {
  const forbidden = fixes.filter(({ status }) => status === 'forbidden');
  return titled(
    'forbidden by this configuration',
    forbidden.flatMap(({ id, forbidden_by: rule, forbidden_text: text }) =>
      paragraph(`  ✗ ${id}: ${rule}: ${printable(text ?? '')}`),
    ),
  );
}

function nonFixLines(nonFixes: readonly NonFix[]): string[] {
  return titled(
    'will not help',
    nonFixes.flatMap(({ title, why, evidence }) =>
      paragraph(`  · ${title}: ${printable(why)}${evidence.map(({ text }) => ` Measured: ${text}.`).join('')}`),
    ),
  );
}

function symptomLines(symptoms: readonly SymptomHit[]): string[] {
  return titled(
    'symptoms of the guides that this run shows',
    symptoms.flatMap(({ id, symptom, seen, confirmation, confirmation_text: how, fix }) =>
      wrapped(
        `  ${id} ${printable(symptom)}: ${printable(seen)}. ${confirmation}: ${printable(how)}. Fix: ${printable(fix)}`,
        '     ',
      ),
    ),
  );
}

function fixLines(fix: AdviceFix, options: AdviseTextOptions): string[] {
  return [
    `FIX      ${fix.id} · ${fix.status}${fix.forbidden_by === null ? '' : ` by ${fix.forbidden_by}`}`,
    ...wrapped(`         ${printable(fix.title)}`, '         '),
    '',
    ...(fix.forbidden_text === null ? [] : labelled('forbidden', printable(fix.forbidden_text))),
    ...labelled('saves', gainText(fix)),
    ...labelled('costs', costText(fix)),
    ...fix.requires.flatMap((text) => labelled('needs', printable(text))),
    ...fix.evidence.flatMap(({ text, grade, source }) =>
      labelled('evidence', `${printable(text)} (${grade}; ${source})`),
    ),
    ...fix.disputes.flatMap((text) => labelled('disputed', printable(text))),
    ...labelled('source', fix.source),
    ...pasteLinesOf(fix.paste, options.paste),
  ];
}
