/** Pages from opened operands. Loaded only by verbs that write one. */

import { readFileSync } from 'node:fs';
import { describeReport, type RunReport } from '../findings/flows/report.js';
import { sourceLines } from '../ingest/read/source-lines.js';
import { hideSecretsIn } from '../knowledge/secrets.js';
import type { DiagnoseResult } from '../model/results/common.js';
import type { DiffResult } from '../model/results/diff.js';
import type { ReportResult } from '../model/results/report.js';
import { reportHtml } from '../report/html/report-html.js';
import { combinationRules, wordDiagnosis } from '../report/verdict/word-verdict.js';
import { diagnoseTarget } from './ask-diagnosis.js';
import type { Session } from './session.js';
import type { Target } from './target.js';
import type { TwoTargets } from './two-targets.js';
import { version } from './version.js';

/** Devices of a run that a page draws unless `--devices` is given. */
export const DRAWN_DEVICES = 4;

const program = (): string => `mbforensics ${version()}`;

export function pageOf(report: ReportResult): string {
  return reportHtml(hideSecretsIn(report), { script: pageFile('page.js'), style: pageFile('page.css') });
}

/** `operand`: what a command names the run by; `devices`: drawn at most. */
export async function reportOf(
  target: Target,
  { capacityBytes, ...how }: { capacityBytes?: number | undefined; operand: string; devices: number; prefix?: string },
): Promise<RunReport> {
  const { store, runId, run, handle } = target;
  const diagnosis = withoutPicture(wordDiagnosis(await diagnoseTarget(target, { capacityBytes })));
  return describeReport({
    ...{ store, runId, run, handle, diagnosis, program: program(), ...how },
    show: { readLines: sourceLines, rules: combinationRules() },
  });
}

/** The page does not suggest itself. */
const withoutPicture = (diagnosis: DiagnoseResult): DiagnoseResult => ({
  ...diagnosis,
  verdicts: diagnosis.verdicts.map((verdict) => ({
    ...verdict,
    commands: verdict.commands.filter((command) => !command.startsWith('mbforensics report')),
  })),
});

/** Two runs on one page: a device of each, and the difference. The verdict is that of the second. */
export async function pairReport(
  diff: DiffResult,
  targets: TwoTargets,
  session: Session,
  capacityBytes?: number | undefined,
): Promise<RunReport> {
  const sideOf = (side: 0 | 1): Promise<RunReport> =>
    targets.use(side, (target) => {
      session.note(target);
      return reportOf(target, { operand: target.run, devices: 1, prefix: `${target.run}, `, capacityBytes });
    });
  const a = await sideOf(0);
  const b = await sideOf(1);
  return {
    report: {
      ...b.report,
      subject: 'comparison',
      title: `${a.report.title} → ${b.report.title}`,
      devices: [...a.report.devices, ...b.report.devices],
      facts: [...a.report.facts, ...b.report.facts],
      other_devices: [],
      diff,
    },
    overview: b.overview,
  };
}

export async function pairPage(diff: DiffResult, targets: TwoTargets, session: Session): Promise<string> {
  return pageOf((await pairReport(diff, targets, session)).report);
}

/** A page without a run: of a bisection or a history. */
export function subjectPage(
  subject: 'bisection' | 'history',
  title: string,
  operand: string,
  documents: Pick<ReportResult, 'bisection' | 'history'>,
): string {
  return pageOf({
    ...{ subject, title, operand, program: program() },
    ...{ diagnosis: null, facts: [], evidence: [], devices: [], other_devices: [], ranks: [], iterations: null },
    ...{ diff: null, lake: null, is_redacted: false },
    ...documents,
  });
}

/** The program of a page, which the build bundles from `src/report/page`, and its style. */
const pageFile = (name: 'page.js' | 'page.css'): string =>
  readFileSync(new URL(`../report/page/${name}`, import.meta.url), 'utf8');
