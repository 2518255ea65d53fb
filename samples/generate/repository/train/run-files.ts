/** The files that one launch leaves behind: those of the writers, with what differs from launch to launch of one repository. */
import type { GeneratedRun } from '../../run.js';
import { createRandom, deriveSeed } from '../../simulate/random.js';
import { megatronLmMemoryLine } from '../../write/memory-lines.js';
import { scientific } from '../../write/python-text.js';
import { LAUNCH_NAME, runDirectory } from '../../write/run-directory.js';
import { runFacts } from '../../write/run-facts.js';
import { brokenLog } from './broken-log.js';
import { generatedRun } from './generated-run.js';
import type { LaunchOptions } from './launch-options.js';
import type { Configuration, ProgramRun } from './run-program.js';

/** What the writers take for the peak learning rate. */
const WRITTEN_RATE = 3e-4;

export function runFiles(launch: LaunchOptions, run: ProgramRun): Map<string, Buffer> {
  if (run.configuration === null) return brokenLog(launch, run);
  const made = generatedRun(launch, run, run.configuration);
  const files = new Map<string, Buffer>();
  const rewrite = rewriter(launch, run, made, run.configuration);
  for (const [name, bytes] of runDirectory(made)) {
    // The repository has a launch script of its own.
    if (name === LAUNCH_NAME) continue;
    const isText = /\.(?:out|log|json)$/.test(name);
    files.set(rewrite(name), isText ? Buffer.from(rewrite(bytes.toString())) : bytes);
  }
  return files;
}

/** Every launch is a job of its own on the node it got; the writers know one job a seed. */
function rewriter(
  launch: LaunchOptions,
  { node }: ProgramRun,
  made: GeneratedRun,
  configuration: Configuration,
): (text: string) => string {
  const facts = runFacts(made);
  const random = createRandom(deriveSeed('job', launch.seed, launch.commit, launch.attempt));
  const job = 2_000_000 + Math.floor(random() * 6_000_000);
  const jobNumber = new RegExp(`(?<=[_=]|STEP )${facts.jobId}(?=[_.])`, 'g');
  const rate = Number(configuration.get('optimizer.lr')) / WRITTEN_RATE;
  const { iterations } = made.attempts[0]!.ranks[0]!;
  const withMemory = (line: string): string =>
    line.replace(/\[Rank (\d+)\] \(after (\d+) iterations\) memory \(GB\).*/, (_, rank: string, iteration: string) => {
      const { memory } = iterations[Number(iteration) - 1]!;
      return megatronLmMemoryLine(Number(rank), Number(iteration), memory, facts.form.roundedMemory);
    });
  const withRate = (line: string): string =>
    line.replace(/(?<=\| learning rate: )\S+/, (text) => scientific(Number(text) * rate));
  return (text) => {
    let changed = text.replace(jobNumber, String(job)).replaceAll(facts.host(0), node);
    if (rate !== 1) changed = changed.split('\n').map(withRate).join('\n');
    return launch.memoryLines === 'megatron' ? changed.split('\n').map(withMemory).join('\n') : changed;
  };
}
