/** Attribution rules, their tests, and what they make of a stack. */
import type { ExplainedStack, ExplainStackResult, RulesResult, RulesTestResult } from '../../model/results/rules.js';
import { formatCount } from '../../model/units.js';
import { keepEnd, left, printable, tableOf } from '../table.js';
import { counted, hanging, wrapped } from '../text-pieces.js';

export function rulesText({ rules, rules_version }: RulesResult): string {
  const samples = rules.reduce((sum, rule) => sum + rule.samples, 0);
  return `${[
    `${formatCount(rules.length)} rules, version ${rules_version}, with ${formatCount(samples)} sample stacks; the first of a tier that matches the innermost frame wins`,
    '',
    tableOf(
      rules,
      [
        left('rule', (rule) => rule.id),
        left('tier', (rule) => rule.tier),
        left('component', (rule) => rule.component),
        left('of it', (rule) => rule.sub_component),
      ],
      '',
    ),
  ].join('\n')}\n`;
}

export function rulesTestText({ file, rules, samples }: RulesTestResult): string {
  const failed = samples.filter(({ passed }) => !passed);
  const lines = failed.map(({ rule, sample, reason }) => `FAILED  ${rule} sample ${sample}: ${reason}`);
  const counts = `${counted(rules, 'rule')}, ${formatCount(samples.length - failed.length)} of ${formatCount(samples.length)} samples pass`;
  lines.push(`${printable(file)}: ${counts}${samples.length === 0 ? ' (a rule without samples is a guess)' : ''}`);
  return `${lines.join('\n')}\n`;
}

export function explainStackText({ stacks }: ExplainStackResult): string {
  return `${stacks.map(stackText).join('\n\n')}\n`;
}

function stackText(stack: ExplainedStack): string {
  const what =
    stack.component === null ? 'unattributed: no rule matches' : `${stack.component} (${stack.sub_component ?? ''})`;
  const marks = new Map<number, string[]>();
  const mark = (frame: number | null, text: string): void => {
    if (frame !== null) marks.set(frame, [...(marks.get(frame) ?? []), text]);
  };
  for (const rule of stack.rules) if (rule.won) mark(rule.frame, rule.id);
  mark(stack.phase_frame, `phase ${stack.phase}`);
  mark(stack.recompute_frame, 'recompute');
  return [
    `${printable(stack.from)}: ${what}, phase ${stack.phase}`,
    ...stack.frames.map((frame, i) => {
      const marksOfFrame = marks.get(i);
      return `  ${String(i).padStart(3)}  ${keepEnd(printable(frame), 60).padEnd(marksOfFrame === undefined ? 0 : 60)}${marksOfFrame === undefined ? '' : `  \u2190 ${marksOfFrame.join(', ')}`}`;
    }),
    ...stack.rules.flatMap((rule) =>
      wrapped(
        `  ${rule.won ? 'won ' : 'lost'}  ${rule.id} (${rule.tier}) at ${rule.frame}: ${rule.component}, ${rule.sub_component}${rule.reason === null ? '' : `; ${rule.reason}`}`,
        '        ',
      ),
    ),
    ...stack.rules.filter(({ won }) => won).flatMap(({ source }) => hanging(`  source  ${printable(source)}`)),
  ].join('\n');
}
