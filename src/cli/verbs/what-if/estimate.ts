import { readRunInputs } from '../../../derive/estimate/run-inputs.js';
import { describeEstimate, questionOfJson, questionOfRun } from '../../../findings/estimate/describe-estimate.js';
import { ESTIMATE_MODELS } from '../../../model/results/estimate.js';
import { estimateDocument } from '../../../report/what-if/estimate-document.js';
import { worded } from '../../../report/words/worded.js';
import { defineVerb } from '../../define-verb.js';
import { choice, misuse, option, pair, repeated, sizeAboveZero } from '../../options.js';
import { readTextFile } from '../../text-input.js';

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
    set: repeated(
      '--set <key=value>',
      'change an input and show what it does; may be repeated',
      pair('KEY=VALUE such as tp=8'),
    ),
    deviceBytes: option(
      '--device-memory <size>',
      "the device's total memory, e.g. 80GiB; default: the run's own",
      sizeAboveZero,
    ),
  },
  async ask({ config, run: operand, inputs, model, set, deviceBytes }, session) {
    const device = deviceBytes === undefined ? null : { bytes: deviceBytes, source: '--device-memory' };
    const asked = { model, set, device };
    if ([config, operand, inputs].filter((given) => given !== undefined).length > 1)
      throw misuse('--config, --run and --inputs exclude each other');
    if (inputs !== undefined)
      return worded(describeEstimate(questionOfJson(await readTextFile(inputs), inputs, asked)));
    const { store, runId, run } = await session.target(config === undefined ? operand : `path:${config}`);
    return worded(describeEstimate(questionOfRun(run, await readRunInputs(store, runId), asked)));
  },
  document: estimateDocument,
});
