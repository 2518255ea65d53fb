/** Advice as Markdown: what to do with the lines to paste, every alternative with its price, the rest folded away. */
import type { AdviceFix, AdviseResult, PasteLines } from '../../model/results/advise.js';
import { formatBytes } from '../../model/units.js';
import { mdCode, mdDetails, mdFence, mdItems, mdLine, mdTable, mdText } from '../markdown.js';
import { left, right } from '../table.js';
import { counted, plain } from '../text-pieces.js';
import { costSource, percentText, savingWords } from '../verdict/action-words.js';

export interface AdviseMarkdownOptions {
  readonly paste: readonly (keyof PasteLines)[];
  /** One fix in full instead of the page. */
  readonly fix?: string | undefined;
}

export function adviseMarkdown(result: AdviseResult, options: AdviseMarkdownOptions): string {
  const chosenFix = options.fix === undefined ? undefined : result.fixes.find(({ id }) => id === options.fix);
  const lines = chosenFix === undefined ? pageLines(result, options) : fixLines(chosenFix, options);
  return `${lines.join('\n')}\n`;
}

function pageLines(result: AdviseResult, options: AdviseMarkdownOptions): string[] {
  const { cause, detail, confidence, rank, run, fixes } = result;
  const isSure = cause !== 'undecided' && cause !== 'not_oom';
  const verdict = `${plain(cause)}${detail === null ? '' : ` (${plain(detail)})`}`;
  const shortfall = result.shortfall_bytes === null ? '' : `short by ${formatBytes(result.shortfall_bytes)}: `;
  const forbidden = fixes.filter(({ status }) => status === 'forbidden');
  const facts = [
    shortfall === '' ? '' : `${shortfall}${result.shortfall_text}`,
    result.to_come_bytes === 0 ? '' : `to come: ${result.to_come_text}`,
    result.published_case === null ? '' : `workload: the published one, ${result.published_case}`,
  ].filter((text) => text !== '');
  return [
    `## mbforensics advise: ${mdText(verdict)}${isSure ? `, confidence ${confidence}` : ''}`,
    '',
    `Run ${mdCode(run)}${rank === null ? '' : `, rank ${rank}`}`,
    '',
    mdLine(result.summary),
    ...mdItems(facts),
    ...actionLines(result, options),
    ...tableLines(fixes),
    ...mdDetails(
      `forbidden by this configuration: ${forbidden.length}`,
      forbidden.map(
        ({ id, forbidden_by: rule, forbidden_text: text }) => `- ${mdText(`${id}: ${rule}: ${text ?? ''}`)}`,
      ),
    ),
    ...mdDetails(
      `will not help: ${result.non_fixes.length}`,
      result.non_fixes.map(({ title, why, evidence }) => {
        const measured = evidence.map(({ text }) => ` Measured: ${text}.`).join('');
        return `- ${mdLine(`${title}: ${why}${measured}`)}`;
      }),
    ),
    ...mdDetails(
      `symptoms of the guides that this run shows: ${result.symptoms.length}`,
      result.symptoms.map(
        ({ id, symptom, seen, confirmation, confirmation_text: how, fix }) =>
          `- ${mdText(`${id} ${symptom}: ${seen}. ${confirmation}: ${how}. Fix: ${fix}`)}`,
      ),
    ),
    ...mdDetails(
      'unknown',
      result.limits.map((text) => `- ${mdLine(text)}`),
    ),
  ];
}

function actionLines({ plan, actions, fixes, cause, next }: AdviseResult, options: AdviseMarkdownOptions): string[] {
  if (cause === 'not_oom' && actions.length === 0) return ['', 'No memory ran out; there is nothing to save.'];
  if (actions.length === 0)
    return ['', 'Name the logs of all ranks and of the launcher, and a snapshot dumped at the OOM.'];
  const lines = actions.flatMap(({ fixes: ids }, i) => {
    const chosen = fixes.filter(({ id }) => ids.includes(id));
    const isPlan = plan !== null && chosen.length > 1;
    const cost = plan?.cost_percent ?? null;
    const together = isPlan ? [`${plan.text}${cost === null ? '' : `; together ${percentText(cost)}`}`] : [];
    const requires = chosen.flatMap((fix) => fix.requires.map((text) => `needs: ${text}`));
    const paste = chosen.length === 0 ? undefined : plan === null ? chosen[0]!.paste : plan.paste;
    const lead = `${i + 1}. `;
    const indent = ' '.repeat(lead.length);
    return [
      `${lead}${mdText(next[i] ?? '')}`,
      ...[...requires, ...together].map((text) => `${indent}- ${mdLine(text)}`),
      ...(paste === undefined ? [] : pasteLines(paste, options.paste, indent)),
    ];
  });
  return ['', '**Do**', '', ...lines];
}

const TITLES: Readonly<Partial<Record<keyof PasteLines, string>>> = {
  sbatch: 'launch script',
  trainer: 'settings of the trainer',
  python: 'training script',
};

function pasteLines(paste: PasteLines, wanted: readonly (keyof PasteLines)[], indent = ''): string[] {
  return wanted.flatMap((name) => {
    if (paste[name].length === 0) return [];
    const isShell = name === 'sbatch' || name === 'megatron_lm' || name === 'trainer';
    const title = TITLES[name] ?? plain(name);
    return ['', `${indent}${title}`, '', ...mdFence(paste[name], isShell ? 'sh' : 'python', indent)];
  });
}

function tableLines(fixes: readonly AdviceFix[]): string[] {
  const open = fixes.filter(({ status }) => status !== 'forbidden');
  if (open.length === 0) return [];
  const rows = open.map((fix) => {
    const { saving_bytes: bytes, saving_by: by, cost_percent: cost, closes } = fix;
    return [
      `${fix.rank}`,
      mdCode(fix.id),
      bytes === null ? '—' : bytes < 0 ? `−${formatBytes(-bytes)}` : formatBytes(bytes),
      mdText(by === 'attribution' ? 'of live' : savingWords(by) || '—'),
      cost === null ? '—' : `${cost < 0 ? '+' : cost === 0 ? '' : '−'}${Math.abs(cost)} %`,
      mdText(costSource(fix) || '—'),
      closes === null ? '—' : closes ? 'yes' : 'no',
      fix.status === 'conditional' ? 'depends on missing information' : fix.status,
    ];
  });
  const columns = [
    right('rank'),
    left('fix'),
    right('saves'),
    left('saving known by'),
    right('throughput'),
    left('cost known by'),
    left('enough'),
    left('status'),
  ];
  return ['', `${counted(open.length, 'fix', 'fixes')}, in the order to try them`, '', ...mdTable(columns, rows)];
}

function fixLines(fix: AdviceFix, options: AdviseMarkdownOptions): string[] {
  const { saving_bytes: bytes, cost_percent: cost, closes } = fix;
  const enough = closes === null ? '' : closes ? ', which is enough' : ', which is not enough';
  return [
    `## mbforensics advise: ${mdText(fix.id)}, ${fix.status}`,
    '',
    mdLine(fix.title),
    ...mdItems([
      ...(fix.forbidden_by === null ? [] : [`forbidden by ${fix.forbidden_by}: ${fix.forbidden_text ?? ''}`]),
      `saves ${bytes === null || bytes <= 0 ? '' : `${formatBytes(bytes)}${enough}: `}${fix.saving_text}`,
      `costs ${cost === null ? '' : `${percentText(cost)} (${costSource(fix)}): `}${fix.cost_text}`,
      ...fix.requires.map((text) => `needs: ${text}`),
      ...fix.evidence.map(({ text, grade, source }) => `evidence: ${text} (${grade}; ${source})`),
      ...fix.disputes.map((text) => `disputed: ${text}`),
      `source: ${fix.source}`,
    ]),
    ...pasteLines(fix.paste, options.paste),
  ];
}
