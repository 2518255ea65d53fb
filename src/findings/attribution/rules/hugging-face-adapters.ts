/** LoRA and other adapters of peft, quantised linear layers of bitsandbytes. */
import type { AttributionRule } from '../match/rule.js';
import { fromLayer, MODEL } from './hugging-face-stacks.js';
import { CONDA, DIST, moduleCall, trainerStep, VENV } from './sample-tails.js';

export const ADAPTER_LAYERS: readonly AttributionRule[] = [
  {
    id: 'hf.lora',
    component: 'activation',
    sub_component: 'adapter',
    at: { file: 'peft/tuners/**', function: ['forward', '_cast_input_dtype'] },
    // The model wrapper's own forward is in every stack.
    within: MODEL,
    source: 'peft/tuners/lora/layer.py Linear.forward, peft 0.21.0',
    samples: [
      {
        frames: [
          `forward ${CONDA}/torch/nn/modules/linear.py`,
          ...moduleCall(CONDA),
          `forward ${CONDA}/peft/tuners/lora/layer.py`,
          ...moduleCall(CONDA),
          `forward ${CONDA}/transformers/models/llama/modeling_llama.py`,
          ...moduleCall(CONDA),
          ...fromLayer(CONDA, 'llama'),
          `forward ${CONDA}/peft/tuners/tuners_utils.py`,
          ...moduleCall(CONDA),
          `forward ${CONDA}/peft/peft_model.py`,
          ...moduleCall(CONDA),
          ...trainerStep(CONDA),
        ],
        from: 'peft/tuners/lora/layer.py Linear.forward, peft 0.21.0',
      },
    ],
  },
  {
    id: 'hf.quantized-linear-gradient',
    component: 'activation',
    sub_component: 'activation_gradient',
    at: { file: 'bitsandbytes/autograd/_functions.py', function: 'backward' },
    phase: 'backward',
    source: 'bitsandbytes/autograd/_functions.py MatMul8bitLt.backward, bitsandbytes 60a0d8a',
    samples: [
      {
        frames: [`backward ${VENV}/bitsandbytes/autograd/_functions.py`, `apply ${VENV}/torch/autograd/function.py`],
        from: 'bitsandbytes/autograd/_functions.py MatMul8bitLt, bitsandbytes 60a0d8a',
      },
    ],
  },
  {
    id: 'hf.quantized-linear',
    component: 'activation',
    sub_component: 'quantized_linear',
    at: { file: ['bitsandbytes/autograd/_functions.py', 'bitsandbytes/nn/modules.py', 'bitsandbytes/functional.py'] },
    within: { file: 'torch/nn/modules/module.py', function: '_call_impl' },
    source: 'bitsandbytes/nn/modules.py Linear4bit.forward, bitsandbytes 005a63c; autograd/_functions.py, 60a0d8a',
    samples: [
      {
        frames: [
          `forward ${DIST}/bitsandbytes/autograd/_functions.py`,
          `apply ${DIST}/torch/autograd/function.py`,
          `matmul_4bit ${DIST}/bitsandbytes/autograd/_functions.py`,
          `forward ${DIST}/bitsandbytes/nn/modules.py`,
          ...moduleCall(DIST),
          `forward ${DIST}/transformers/models/gemma2/modeling_gemma2.py`,
          ...moduleCall(DIST),
          ...fromLayer(DIST, 'gemma2'),
          ...trainerStep(DIST),
        ],
        from: 'bitsandbytes/nn/modules.py Linear4bit.forward, bitsandbytes 005a63c',
      },
    ],
  },
];
