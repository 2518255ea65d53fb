/** A comparison for `$GITHUB_STEP_SUMMARY`: the verdict and what decides it in sight, the rest folded away. */

import type { CompareCheck } from '../../model/results/compare.js';
import { formatCount } from '../../model/units.js';
import { mdCode, mdDetails, mdItems, mdLine, mdTable, mdText } from '../markdown.js';
import { left } from '../table.js';
import { counted } from '../text-pieces.js';
import { isListed, runWords } from './check-words.js';
import { contractValue, contractWords, refusalWords } from './contract-words.js';
import type { Sides } from './difference-lines.js';
import {
  changedMarkdown,
  checkTableMarkdown,
  componentsMarkdown,
  sitesMarkdown,
  suspectsMarkdown,
} from './difference-markdown.js';
import { type ReportedComparison, verbOf } from './reported-comparison.js';

const SIDES: Sides = ['golden', 'current'];

export function compareMarkdown(result: ReportedComparison): string {
  const { verdict, preset, checks, current, golden, summary, refused, contract } = result;
  const refusal = refusalWords(refused, contract);
  const isShown = (check: CompareCheck): boolean => isListed(check, result.warned);
  const gate = checks.filter(isShown);
  const ungated = checks.filter((check) => !isShown(check));
  const title = verbOf(result) === 'gate' ? 'mbforensics gate' : 'mbforensics';
  const by = preset === 'default' ? '' : `, preset ${preset}`;
  const lines = [
    `## ${title}: ${verdict}`,
    '',
    `${mdLine(runWords(current, false))} against ${mdText(runWords(golden, true))}${by}`,
    ...(summary === '' || summary === refused ? [] : ['', mdLine(summary)]),
    ...(refusal === null ? [] : ['', `**refused**: ${mdText(refusal.reason)}; ${mdText(refusal.remedy)}`]),
    ...(gate.length === 0 ? [] : ['', ...checkTableMarkdown(gate, preset, SIDES)]),
    ...contractMarkdown(result),
    ...mdDetails(`informative: ${counted(ungated.length, 'check')}`, checkTableMarkdown(ungated, preset, SIDES)),
    ...componentsMarkdown(result.components, SIDES),
    ...sitesMarkdown(result.sites, SIDES),
    ...changedMarkdown('settings', result.config, SIDES),
    ...changedMarkdown('environment', result.env, SIDES),
    ...suspectsMarkdown(result),
    ...mdItems(result.notes),
  ];
  return `${lines.join('\n')}\n`;
}

function contractMarkdown({ contract, refused }: ReportedComparison): string[] {
  const { different, same, not_compared: missing } = contractWords(contract);
  const blocking = different.filter((entry) => entry.blocking).length;
  const words = [
    different.length === 0 ? 'no difference' : counted(different.length, 'difference'),
    ...(blocking === 0
      ? []
      : [`${formatCount(blocking)} blocking${refused === null ? ', compared nevertheless' : ''}`]),
  ];
  const rows = different.map((entry) => [
    entry.blocking ? '**blocking**' : 'differs',
    entry.group,
    mdCode(entry.key),
    mdCode(contractValue(entry, entry.golden)),
    mdCode(contractValue(entry, entry.current)),
  ]);
  return mdDetails(`contract: ${words.join(', ')}`, [
    ...(rows.length === 0
      ? []
      : [
          ...mdTable(
            ['', 'group', 'key', ...SIDES].map((title) => left(title)),
            rows,
          ),
          '',
        ]),
    ...(same.length === 0 ? [] : [`- same: ${same.join(', ')}`]),
    ...(missing.length === 0 ? [] : [`- unknown in one of the two: ${missing.join(', ')}`]),
  ]);
}
