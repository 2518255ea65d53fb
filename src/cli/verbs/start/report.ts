import { spawn } from 'node:child_process';
import { closeSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseMoment } from '../../../derive/trace/moment.js';
import { MbfError } from '../../../model/errors.js';
import type { DiagnoseResult } from '../../../model/results/common.js';
import type { ReportSummary } from '../../../model/results/report.js';
import { stackedSvg } from '../../../report/html/stacked-svg.js';
import { reportDocument } from '../../../report/start/report-document.js';
import type { Context } from '../../context.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { CAPACITY, countFromOne, flag, misuse, operand, option, REDACT, type Values } from '../../options.js';
import { DRAWN_DEVICES, pageOf, pairReport, reportOf } from '../../report-page.js';
import type { Session } from '../../session.js';

/** Every page has it, and no other file: a page may be replaced by a page. */
const OURS = /<meta name="generator" content="mbforensics|<svg [^>]{0,1000}data-generator="mbforensics/;
const DEFAULT_FILE = 'report.html';

interface ReportAnswer {
  readonly summary: ReportSummary;
  readonly diagnosis: DiagnoseResult | null;
}

const OPTIONS = {
  output: option(
    '-o, --output <file>',
    'the page (.html), or the stacked view alone (.svg); - is standard output',
    String,
    DEFAULT_FILE,
  ),
  baseline: option('--baseline <run>', 'a second run before it on the same axis, with the differences'),
  repo: option('--repo <dir>', 'with --baseline: the repository of both commits; names hunks and settings'),
  devices: option('--devices <n>', 'devices to draw, those that ran out first', countFromOne, String(DRAWN_DEVICES)),
  capacity: CAPACITY,
  ...REDACT,
  open: flag('--open', 'open it in the browser'),
  force: flag('--force', 'replace a file that report did not write'),
};

export const verb = defineVerb({
  name: 'report',
  operands: {
    run: operand(
      '[run...]',
      'paths of one run, - for standard input, a snapshot, or a run of the store; default: the last',
    ),
  },
  options: OPTIONS,
  async ask(inputs, session): Promise<ReportAnswer | undefined> {
    const { output, force, open } = inputs;
    const isSvg = /\.svg$/i.test(output);
    if (output !== '-') checkOutput(output, force);
    else if (inputs.json || open) throw misuse('-o - goes with neither --json nor --open');
    const { report, overview } = await runReport(inputs, session);
    if (isSvg && (overview === null || report.devices.length === 0))
      throw new MbfError(
        'MBF1002',
        `run ${report.title} has no memory snapshot with a trace, so there is no course to draw`,
      );
    const content = isSvg ? stackedSvg(report, overview!) : pageOf(report);
    if (output === '-') {
      session.context.out(content);
      return undefined;
    }
    const { writeWhole } = await import('../../output-file.js');
    await writeWhole(output, content, true);
    if (open) openInBrowser(output, session.context);
    return {
      summary: {
        schema: 'mbforensics/report@1',
        subject: report.subject,
        run: report.title,
        file: output,
        bytes: Buffer.byteLength(content),
        devices: report.devices.map(({ page }) => ({
          handle: page.handle,
          device: page.device,
          entries: page.lastSeq - page.firstSeq + 1,
          blocks: page.allBlocks,
          blocks_left_out: page.allBlocks - page.blocks - page.blocksOutside,
        })),
        devices_not_drawn: report.other_devices,
      },
      diagnosis: report.diagnosis,
    };
  },
  full: ({ summary }) => summary,
  document({ summary, diagnosis }, { run, db, lake, capacity, redact }) {
    const operands = redact ? [summary.run] : run;
    return reportDocument(summary, diagnosis, { operands, db, lake, capacity: capacity?.text });
  },
  exitCode: () => EXIT.done,
});

type Inputs = Values<typeof OPTIONS> & { readonly run: readonly string[] };

async function runReport({ run, baseline, repo, devices, capacity, redact }: Inputs, session: Session) {
  const capacityBytes = capacity?.bytes;
  if (baseline === undefined) {
    const target = await session.target(run);
    const operand = run.length === 1 && !redact ? run[0]! : target.run;
    const made = await reportOf(target, { capacityBytes, operand, devices });
    const { lake } = session.common;
    if (lake === undefined) return made;
    const { readLakeRuns } = await import('../../lake-target.js');
    return { ...made, report: { ...made.report, lake: await readLakeRuns(lake) } };
  }
  if (redact) throw misuse('--redact cannot be combined with --baseline; run `redact` on both runs with one --key');
  const [only, ...others] = run;
  if (only === undefined || others.length > 0 || only === '-')
    throw misuse('--baseline compares two runs: name one run, or one path');
  const { diffOperands } = await import('../../diff-operands.js');
  const peak = parseMoment('peak');
  const { diff, targets } = await diffOperands(
    [baseline, only],
    {
      limits: { sites: 25, minBytes: 0, maxGrowth: undefined },
      ...{ moments: [peak, peak], rank: undefined, device: undefined, matchStep: false, allRanks: false, repo },
    },
    session,
  );
  return pairReport(diff, targets, session, capacityBytes);
}

/** MBF1007 if another file than a page or picture of ours is there. */
function checkOutput(file: string, force: boolean): void {
  let start = '';
  try {
    const handle = openSync(file, 'r');
    try {
      const bytes = Buffer.alloc(4096);
      start = bytes.toString('utf8', 0, readSync(handle, bytes, 0, bytes.length, 0));
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Other errors repeat when the file is written, with a better text.
    if (code === 'EISDIR') throw new MbfError('MBF3006', 'the path is a directory', { file });
    return;
  }
  if (!force && start !== '' && !OURS.test(start)) throw new MbfError('MBF1007', 'the file exists', { file });
}

/** On a machine without a desktop, one line on standard error gives the path of the file. */
function openInBrowser(file: string, { env, err }: Context): void {
  const ofPlatform = new Map([
    ['darwin', 'open'],
    ['win32', 'explorer'],
  ]).get(process.platform);
  const program = env['BROWSER'] || (ofPlatform ?? 'xdg-open');
  const failed = (): void => err(`no browser can be opened here; the page is ${resolve(file)}\n`);
  // Its own session: the browser outlives this process, and a signal to it does not reach the browser.
  const child = spawn(program, [resolve(file)], { env, detached: true, stdio: 'ignore' });
  child.on('error', failed);
  child.on('spawn', () => child.unref());
}
