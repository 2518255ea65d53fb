/**
 * A comparison as JUnit XML, as Jenkins, GitLab and GitHub actions read it: a test case for every check of the gate,
 * for how the run ended and for the contract. Without times: the same result gives the same file.
 */
import { visibleLines } from '../../model/escape-controls.js';
import type { CompareCheck } from '../../model/results/compare.js';
import { failsGate, figuresOf, isListed, remarkOf, runWords } from './check-words.js';
import { contractValue, contractWords, refusalWords } from './contract-words.js';
import { type ReportedComparison, verbOf } from './reported-comparison.js';
import { upstreamWords } from './upstream-words.js';

interface TestCase {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Kind of failure. */
  readonly type: string;
  /** One line: what viewers show first. */
  readonly message: string;
  readonly body: string;
}

export function compareJunit(result: ReportedComparison): string {
  const verb = verbOf(result);
  const gate = result.checks.filter((check) => isListed(check, result.warned));
  const cases = [
    ...(gate.some(({ name }) => name === 'status') ? [] : [statusCase(result)]),
    contractCase(result),
    ...gate.map((check) => checkCase(check, result)),
  ];
  const number = (outcome: TestCase['outcome']): number => cases.filter((one) => one.outcome === outcome).length;
  const counts = `tests="${cases.length}" failures="${number('failed')}" errors="0" skipped="${number('skipped')}"`;
  const facts: Readonly<Record<string, string>> = {
    verdict: result.verdict,
    summary: result.summary,
    preset: result.preset,
    golden: runWords(result.golden, true),
    current: runWords(result.current, false),
  };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="mbforensics ${verb}" ${counts}>`,
    `  <testsuite name="${attribute(`${verb} ${result.current.name} against ${result.golden.name}`)}" ${counts}>`,
    '    <properties>',
    ...Object.entries(facts).map(
      ([name, value]) => `      <property name="${attribute(name)}" value="${attribute(value)}"/>`,
    ),
    '    </properties>',
    ...cases.flatMap((one) => caseLines(one, verb)),
    ...(result.notes.length === 0 ? [] : [`    <system-out>${content(result.notes.join('\n'))}</system-out>`]),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function caseLines({ name, outcome, type, message, body }: TestCase, verb: string): string[] {
  const open = `    <testcase name="${attribute(name)}" classname="mbforensics.${verb}"`;
  if (outcome === 'skipped') return [`${open}>`, `      <skipped message="${attribute(message)}"/>`, '    </testcase>'];
  if (outcome === 'failed')
    return [
      `${open}>`,
      `      <failure type="${attribute(type)}" message="${attribute(message)}">${content(body)}</failure>`,
      '    </testcase>',
    ];
  return body === ''
    ? [`${open}/>`]
    : [`${open}>`, `      <system-out>${content(body)}</system-out>`, '    </testcase>'];
}

/** Used where no check covers the ending: a preset has such a check only for runs that did not complete. */
function statusCase({ current, golden, refused }: ReportedComparison): TestCase {
  const ended = `golden ${golden.ending ?? 'unknown'}, current ${current.ending ?? 'unknown'}`;
  if (refused === null && current.ending === 'completed')
    return { name: 'status', outcome: 'passed', type: '', message: '', body: ended };
  return { name: 'status', outcome: 'skipped', type: '', message: `not judged: ${ended}`, body: '' };
}

function contractCase({ contract, refused }: ReportedComparison): TestCase {
  const { different } = contractWords(contract);
  const body = different
    .map((entry) => {
      const [a, b] = [contractValue(entry, entry.golden), contractValue(entry, entry.current)];
      return `${entry.blocking ? 'blocking' : 'differs'}: ${entry.group} ${entry.key}: ${a} → ${b}`;
    })
    .join('\n');
  const refusal = refusalWords(refused, contract);
  if (refusal === null) return { name: 'contract', outcome: 'passed', type: '', message: '', body };
  const message = `${refusal.reason}; ${refusal.remedy}`;
  const isBroken = different.some(({ blocking }) => blocking);
  return { name: 'contract', outcome: isBroken ? 'failed' : 'skipped', type: 'contract', message, body };
}

function checkCase(check: CompareCheck, { preset }: ReportedComparison): TestCase {
  const { name, status } = check;
  const figures = figuresOf(check);
  const remark = remarkOf(check);
  const upstream = upstreamWords(check, preset);
  if (failsGate(check, preset))
    return {
      name,
      outcome: 'failed',
      type: status,
      message: upstream ?? figures,
      body: [figures, remark, upstream ?? ''].filter((text) => text !== '').join('\n'),
    };
  if (status === 'skipped' || status === 'undecided') {
    const message = `${status}: ${remark === '' ? figures : remark}`;
    return { name, outcome: 'skipped', type: '', message, body: '' };
  }
  if (status === 'regression')
    return { name, outcome: 'skipped', type: '', message: `regression, a warning only: ${figures}`, body: '' };
  return {
    name,
    outcome: 'passed',
    type: '',
    message: '',
    body: [figures, remark].filter((text) => text !== '').join('\n'),
  };
}

/** XML 1.0 cannot hold control characters or halves of surrogate pairs, not even escaped. */
function content(text: string): string {
  return visibleLines(text.replaceAll('\r', '\n'))
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}

/** On one line: a parser would make a blank of a line break. */
function attribute(text: string): string {
  return content(text.replaceAll(/\s+/g, ' ').trim()).replaceAll('"', '&quot;').replaceAll("'", '&apos;');
}
