import { readFileSync, statSync } from 'node:fs';
import { readRunInputs } from '../../../derive/estimate/run-inputs.js';
import { describeEstimate, questionOfJson, questionOfRun } from '../../../findings/estimate/describe-estimate.js';
import { MbfError } from '../../../model/errors.js';
import { ESTIMATE_MODELS } from '../../../model/results/estimate.js';
import { MIB } from '../../../model/units.js';
import { estimateText } from '../../../report/what-if/estimate-text.js';
import { worded } from '../../../report/words/worded.js';
import { defineVerb } from '../../define-verb.js';
import { choice, option, repeated, sizeAboveZero } from '../../options.js';

export const verb = defineVerb({
  name: 'estimate',
  options: {
    config: option('--config <file>', 'a configuration of Megatron-LM, Megatron Bridge or NeMo'),
    run: option('--run <run>', 'the settings in force in a run, or a path; default: the run ingested last'),
    inputs: option('--inputs <file>', 'a JSON object of inputs, e.g. {"num_layers": 32, "tp": 2, …}'),
    model: choice(
      '--model <model>',
      "our own model, or an upstream project's formula to the byte",
      ESTIMATE_MODELS,
      'mbforensics',
    ),
    set: repeated('--set <key=value>', 'change an input and show what it does; may be repeated', keyValue),
    deviceBytes: option(
      '--device-memory <size>',
      "the device's total memory, e.g. 80GiB; default: the run's own",
      sizeAboveZero(', e.g. 80GiB'),
    ),
  },
  examples: [
    'estimate --run runs/llama3-70b-sft',
    'estimate --config run_config.yaml --set world=32 --device-memory 80GiB',
    'estimate --run night-shift --set tp=8 --set recompute_modules=mlp',
    'estimate --inputs layout.json --model megatron-bridge --json',
  ],
  async ask({ config, run: operand, inputs, model, set, deviceBytes }, session) {
    const device = deviceBytes === undefined ? null : { bytes: deviceBytes, source: '--device-memory' };
    const asked = { model, set, device };
    if ([config, operand, inputs].filter((given) => given !== undefined).length > 1)
      throw new MbfError('MBF1001', '--config, --run and --inputs exclude each other');
    if (inputs !== undefined) return worded(describeEstimate(questionOfJson(readText(inputs), inputs, asked)));
    const { store, runId, run } = await session.target(config === undefined ? operand : `path:${config}`);
    return worded(describeEstimate(questionOfRun(run, await readRunInputs(store, runId), asked)));
  },
  render: estimateText,
});

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
    if (isMissing) throw new MbfError('MBF1003', 'no such file', { file }, error);
    throw new MbfError('MBF2007', 'it cannot be read', { file }, error);
  }
}

function keyValue(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at <= 0) throw new MbfError('MBF1001', `invalid --set ${JSON.stringify(text)}; expected KEY=VALUE such as tp=8`);
  return [text.slice(0, at).trim(), text.slice(at + 1)];
}
