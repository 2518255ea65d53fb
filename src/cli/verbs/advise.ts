import { type Command, Option } from 'commander';
import { advise } from '../../findings/advice/advise.js';
import { diagnose } from '../../findings/flows/diagnose.js';
import { readSituation } from '../../findings/flows/read-situation.js';
import { readSymptomEvidence } from '../../findings/flows/read-symptom-evidence.js';
import { findSymptoms } from '../../findings/symptoms/find-symptoms.js';
import { snapshotsToJudge } from '../../findings/verdict/traced-ooms.js';
import type { AdviseResult, PasteLines } from '../../model/advise-results.js';
import { MbfError } from '../../model/errors.js';
import { adviseText } from '../../report/advise-text.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { withHistories } from '../with-histories.js';
import { capacityOption } from './diagnose.js';

interface Options extends CommonOptions {
  readonly capacity?: string;
  readonly fix?: string;
  readonly paste?: string;
}

const PASTES = ['megatron-bridge', 'megatron-lm', 'nemo', 'all'] as const;

export function registerAdvise(program: Command, context: Context): void {
  withCommon(
    program
      .command('advise')
      .description('what would cure it: fixes with what they save, what they cost, and what the configuration forbids')
      .argument('[run]', 'a run of the store or a path; default: the run ingested last')
      .option('--capacity <size>', 'total memory of the device, e.g. 80GiB, where no message prints it')
      .option('--fix <id>', 'one fix in full: evidence, what sources disagree on, lines to paste')
      .addOption(
        new Option('--paste <framework>', 'whose lines to paste; default: the framework of the run').choices(PASTES),
      ),
    [
      'advise',
      'advise runs/llama3-70b-sft --fix expandable-segments',
      'advise night-shift --paste megatron-lm',
      'advise night-shift --json',
    ],
  ).action(async (operand: string | undefined, options: Options) => {
    const capacityBytes = capacityOption(options.capacity);
    const opened = await openTarget(operand, options, context);
    const target = await withHistories(opened, await snapshotsToJudge(opened.store, opened.runId), options);
    try {
      const { store, runId, run } = target;
      const diagnosis = await diagnose(store, runId, run, { capacityBytes });
      const situation = await readSituation(store, runId, diagnosis, capacityBytes ?? null);
      const symptoms = findSymptoms(await readSymptomEvidence(store, runId, run, { diagnosis }));
      const advice: AdviseResult = { ...advise(situation), symptoms };
      const framework = situation.facts.framework.name;
      demandFix(advice, options.fix);
      answer(context, options, advice, (one) =>
        adviseText(one, { fix: options.fix, paste: pastesOf(options.paste ?? framework) }),
      );
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}

/** Where nothing tells the framework, the lines of each. */
function pastesOf(framework: string | null): readonly (keyof PasteLines)[] {
  switch (framework) {
    case 'megatron-bridge':
      return ['sbatch', 'megatron_bridge'];
    case 'megatron-lm':
      return ['sbatch', 'megatron_lm'];
    case 'nemo':
      return ['sbatch', 'nemo'];
    default:
      return ['sbatch', 'megatron_bridge', 'megatron_lm', 'nemo'];
  }
}

function demandFix({ fixes, run }: AdviseResult, id: string | undefined): void {
  if (id === undefined || fixes.some((fix) => fix.id === id)) return;
  const known = fixes.length === 0 ? 'none' : fixes.map((fix) => fix.id).join(', ');
  throw new MbfError('MBF1001', `--fix ${JSON.stringify(id)} is no fix of ${run}; there are: ${known}`);
}
