/** The log of a launch whose program fails before it has read its configuration: tracebacks and the launcher's last words, nothing else. */
import type { CallPath } from '../../simulate/code-line.js';
import { clock } from '../../write/python-text.js';
import type { LaunchOptions } from './launch-options.js';
import type { ProgramRun } from './run-program.js';

const PYTHON = '/opt/venv/bin/python';

export function brokenLog(launch: LaunchOptions, { ending, startUs, node }: ProgramRun): Map<string, Buffer> {
  if (ending.kind !== 'raised') throw new Error(`a program without configuration ended with "${ending.kind}"`);
  const pid = 4_017;
  const lines: string[] = [];
  for (let rank = 0; rank < launch.ranks; rank += 1) {
    lines.push(...traceback(ending.path, ending.exception).map((line) => `[default${rank}]:${line}`));
  }
  const failedUs = startUs + 9_400_000;
  const stamp = clock(failedUs).slice(5, 10).replace('-', '');
  const time = clock(failedUs).slice(11);
  const failure = (rank: number): string[] => [
    `[${rank}]:`,
    `  time      : ${clock(failedUs).replace(' ', '_')}`,
    `  host      : ${node}`,
    `  rank      : ${rank} (local_rank: ${rank})`,
    `  exitcode  : 1 (pid: ${pid + rank})`,
    '  error_file: <N/A>',
    '  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html',
  ];
  lines.push(
    `E${stamp} ${time}.318000 ${pid - 1} torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: 1) local_rank: 0 (pid: ${pid}) of binary: ${PYTHON}`,
    'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
    '='.repeat(60),
    `${launch.mount}scripts/pretrain.py FAILED`,
    '-'.repeat(60),
    'Failures:',
    ...Array.from({ length: launch.ranks - 1 }, (_, i) => failure(i + 1)).flat(),
    '-'.repeat(60),
    'Root Cause (first observed failure):',
    ...failure(0),
    '='.repeat(60),
    `srun: error: ${node}: task 0: Exited with exit code 1`,
  );
  return new Map([[`log-nightly_${startUs % 1e7}_0.out`, Buffer.from(`${lines.join('\n')}\n`)]]);
}

function traceback(path: CallPath, exception: string): string[] {
  return [
    'Traceback (most recent call last):',
    ...path
      .toReversed()
      .flatMap(({ filename, line, name, source }) => [
        `  File "${filename}", line ${line}, in ${name}`,
        `    ${source}`,
      ]),
    ...exception.split('\n'),
  ];
}
