/** The first screen as Markdown: for an issue, a pull request or a chat. The evidence is folded. */

import type { DiagnoseResult, VerdictResult } from '../../model/results/common.js';
import { mdCode, mdDetails, mdFence, mdItems, mdLine, mdTable, mdText } from '../markdown.js';
import { left, right } from '../table.js';
import { titled } from '../text-pieces.js';
import { accountBar, accountRows } from './account-text.js';
import {
  answerOf,
  failedTexts,
  fixParts,
  headline,
  nothingFound,
  nothingFoundSteps,
  otherTexts,
  reasons,
  shownAccount,
  shownRun,
  shownSites,
  unknownTexts,
} from './diagnosis-parts.js';
import { evidenceLines } from './evidence-text.js';
import { isRunAnswer } from './run-state-text.js';

/** Columns of the bar in a fence: what a page of GitHub shows without scrolling. */
const BAR_WIDTH = 72;

export function diagnoseMarkdown(result: DiagnoseResult): string {
  const [first, ...others] = result.verdicts;
  const heading = [`## ${mdText(headline(first, result))}`, ''];
  if (first === undefined) {
    const steps = [...failedTexts(result), ...nothingFoundSteps(result, {})];
    return `${[...heading, nothingFound(result), '', ...steps.map((text) => `- ${mdLine(text)}`)].join('\n')}\n`;
  }
  const { pasted, texts } = fixParts(first, result);
  const lines = [
    ...heading,
    ...answerLines(first, result),
    ...(pasted.length === 0 && texts.length === 0 ? [] : ['', '**Fix**']),
    ...(pasted.length === 0 ? [] : ['', ...mdFence(pasted, '')]),
    ...mdItems(texts),
    ...titled('**Why**', mdItems(isRunAnswer(first, result) ? [] : reasons(first))),
    ...titled('**Memory**', memoryLines(result)),
    ...titled('**Run**', mdItems(shownRun(first, result).map(({ label, text }) => `${label.toLowerCase()}: ${text}`))),
    ...titled('**Largest live sites**', siteLines(result)),
    ...titled('**Also**', mdItems(otherTexts(others, first, result))),
    ...titled('**Unknown**', mdItems(unknownTexts(first, result))),
    ...titled('**Not read**', mdItems(failedTexts(result))),
    ...mdDetails('all evidence', mdFence(evidenceLines(first, others, result), 'text')),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function answerLines(first: VerdictResult, result: DiagnoseResult): string[] {
  const { label, texts } = answerOf(first, result);
  const [title = '', ...more] = texts;
  const name = label === 'STATE' ? 'State' : 'Verdict';
  return [`**${name}: ${mdText(title)}.**${more.map((text) => ` ${mdText(text)}`).join('.')}`];
}

function memoryLines({ verdicts: [first] }: DiagnoseResult): string[] {
  const account = shownAccount(first!);
  if (account === null) return [];
  const { total, parts, when, caveat } = account;
  const { bar } = accountBar(total, parts, BAR_WIDTH);
  const rows = accountRows(total, parts).map(({ fill, name, size }) => [`${fill} ${mdText(name)}`.trim(), size]);
  const title = `${when}${caveat}`.trim();
  return [
    ...(title === '' ? [] : ['', mdLine(title)]),
    '',
    ...mdFence([bar], 'text'),
    '',
    ...mdTable([left('part'), right('memory')], rows),
  ];
}

function siteLines({ verdicts: [first] }: DiagnoseResult): string[] {
  const sites = shownSites(first!);
  if (sites.length === 0) return [];
  const rows = sites.map(({ size, blocks, name }) => [size, blocks.replace(/ .*/, ''), mdCode(name)]);
  return ['', ...mdTable([right('live'), right('blocks'), left('call site')], rows)];
}
