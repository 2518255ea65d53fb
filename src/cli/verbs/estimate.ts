import { readFileSync, statSync } from 'node:fs';
import { type Command, Option } from 'commander';
import {
  describeEstimate,
  type EstimateQuestion,
  questionOfJson,
  questionOfRun,
} from '../../findings/estimate/describe-estimate.js';
import { readRunInputs } from '../../findings/estimate/run-inputs.js';
import { MbfError } from '../../model/errors.js';
import { ESTIMATE_MODELS, type EstimateModel } from '../../model/estimate-results.js';
import { MIB, parseSize } from '../../model/units.js';
import { estimateText } from '../../report/estimate-text.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

interface Options extends CommonOptions {
  readonly config?: string;
  readonly run?: string;
  readonly inputs?: string;
  readonly model: EstimateModel;
  readonly set: readonly string[];
  readonly deviceMemory?: string;
}

const collect = (value: string, values: readonly string[]): readonly string[] => [...values, value];

export function registerEstimate(program: Command, context: Context): void {
  withCommon(
    program
      .command('estimate')
      .description('what a configuration should take of each GPU: by pipeline stage and component, with error bars')
      .option('--config <file>', 'a configuration of Megatron-LM, Megatron Bridge or NeMo')
      .option('--run <run>', 'the settings in force in a run, or a path; default: the run ingested last')
      .option('--inputs <file>', 'a JSON object of inputs, e.g. {"num_layers": 32, "tp": 2, …}')
      .addOption(
        new Option('--model <model>', "our own model, or an upstream project's formula to the byte")
          .choices(ESTIMATE_MODELS)
          .default('mbforensics'),
      )
      .option('--set <key=value>', 'change an input and show what it does; may be repeated', collect, [])
      .option('--device-memory <size>', "the device's total memory, e.g. 80GiB; default: as the run tells it"),
    [
      'estimate --run runs/llama3-70b-sft',
      'estimate --config run_config.yaml --set world=32 --device-memory 80GiB',
      'estimate --run night-shift --set tp=8 --set recompute_modules=mlp',
      'estimate --inputs layout.json --model megatron-bridge --json',
    ],
  ).action(async (options: Options) => {
    const asked = { model: options.model, set: options.set.map(keyValue), device: deviceOption(options.deviceMemory) };
    if ([options.config, options.run, options.inputs].filter((given) => given !== undefined).length > 1)
      throw new MbfError('MBF1001', '--config, --run and --inputs exclude each other');
    if (options.inputs !== undefined) {
      const question = questionOfJson(readText(options.inputs), options.inputs, asked);
      answer(context, options, describeEstimate(question), estimateText);
      return;
    }
    const { question, failed } = await ofRun(options, asked, context);
    answer(context, options, describeEstimate(question), estimateText);
    if (failed) process.exitCode = EXIT.input;
  });
}

async function ofRun(
  options: Options,
  asked: Pick<EstimateQuestion, 'model' | 'set' | 'device'>,
  context: Context,
): Promise<{ readonly question: EstimateQuestion; readonly failed: boolean }> {
  const operand = options.config === undefined ? options.run : `path:${options.config}`;
  const target = await openTarget(operand, options, context);
  try {
    const inputs = await readRunInputs(target.store, target.runId);
    return { question: questionOfRun(target.run, inputs, asked), failed: target.failed.length > 0 };
  } finally {
    await target.close();
  }
}

/** An object of inputs has a page; what has more was meant for `--run`. */
const MOST_INPUT_BYTES = MIB;

function readText(file: string): string {
  try {
    if (file !== '-' && statSync(file).size > MOST_INPUT_BYTES)
      throw new MbfError('MBF2201', 'an object of inputs has a page, this file has more than 1 MiB', { file });
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    if (error instanceof MbfError) throw error;
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const [code, fact] = isMissing
      ? (['MBF1003', 'no such file'] as const)
      : (['MBF2007', 'it cannot be read'] as const);
    throw new MbfError(code, fact, { file }, error);
  }
}

function keyValue(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at <= 0) throw new MbfError('MBF1001', `--set ${JSON.stringify(text)} is not KEY=VALUE, e.g. tp=8`);
  return [text.slice(0, at).trim(), text.slice(at + 1)];
}

function deviceOption(text: string | undefined): EstimateQuestion['device'] {
  if (text === undefined) return null;
  const bytes = parseSize(text);
  if (bytes === undefined || bytes === 0)
    throw new MbfError('MBF1001', `--device-memory ${JSON.stringify(text)} is no size, e.g. 80GiB`);
  return { bytes, source: '--device-memory' };
}
