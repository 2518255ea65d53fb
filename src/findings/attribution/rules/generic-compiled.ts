/** What code that torch.compile wrote allocates: its frames have no names of the model's, unless dynamo left some further out. */
import type { AttributionRule, FramePattern } from '../match/rule.js';
import { CONDA, moduleCall, SCRIPT, VENV } from './sample-tails.js';

/** `named`: frames that say more than that the code was compiled. */
export function torchCompileRules(named: readonly FramePattern[]): readonly AttributionRule[] {
  return [
    {
      id: 'generic.compiled-backward',
      component: 'activation',
      sub_component: 'activation_gradient',
      at: { file: ['torchinductor_*/**'], function: 'call' },
      within: [
        {
          file: 'torch/_functorch/_aot_autograd/runtime_wrappers.py',
          function: ['backward', '_backward_impl', 'call_compiled_backward', 'impl_fn'],
        },
        { function: 'torch::autograd::Engine::*' },
      ],
      without: { file: 'torch/utils/checkpoint.py' },
      phase: 'backward',
      source: 'torch/_functorch/_aot_autograd/runtime_wrappers.py CompiledFunction.backward, torch 2.14.1 wheel',
      samples: [
        {
          frames: [
            'call /tmp/torchinductor_user/qr/cqrstuvwxyza.py',
            `run ${VENV}/torch/_inductor/utils.py`,
            `__call__ ${VENV}/torch/_inductor/output_code.py`,
            `call_func_at_runtime_with_args ${VENV}/torch/_functorch/_aot_autograd/utils.py`,
            `_backward_impl ${VENV}/torch/_functorch/_aot_autograd/runtime_wrappers.py`,
            `impl_fn ${VENV}/torch/_functorch/_aot_autograd/runtime_wrappers.py`,
            `backward ${VENV}/torch/_functorch/_aot_autograd/runtime_wrappers.py`,
            `apply ${VENV}/torch/autograd/function.py`,
          ],
          from: 'torch/_functorch/_aot_autograd/runtime_wrappers.py CompiledFunction._backward_impl, torch 2.14.1 wheel',
        },
      ],
    },
    {
      id: 'generic.compiled-forward',
      component: 'activation',
      sub_component: 'compiled_graph',
      at: { file: ['torchinductor_*/**', 'torch/_inductor/output_code.py', 'torch/_inductor/utils.py'] },
      without: [
        ...named,
        { function: 'torch::autograd::Engine::*' },
        { file: 'torch/_functorch/_aot_autograd/runtime_wrappers.py', function: ['backward', '_backward_impl'] },
      ],
      source: 'torch/_inductor/output_code.py CompiledFxGraph.__call__, torch 2.14.1 wheel',
      samples: [
        {
          frames: [
            'call /tmp/torchinductor_user/st/cstuvwxyzabc.py',
            `__call__ ${CONDA}/torch/_inductor/output_code.py`,
            `call_func_at_runtime_with_args ${CONDA}/torch/_functorch/_aot_autograd/utils.py`,
            `forward ${CONDA}/torch/_functorch/_aot_autograd/runtime_wrappers.py`,
            `apply ${CONDA}/torch/autograd/function.py`,
            `runtime_wrapper ${CONDA}/torch/_functorch/_aot_autograd/runtime_wrappers.py`,
            `_fn ${CONDA}/torch/_dynamo/eval_frame.py`,
            'forward /home/user/project/model.py',
            `compile_wrapper ${CONDA}/torch/_dynamo/eval_frame.py`,
            ...moduleCall(CONDA),
            ...SCRIPT,
          ],
          from: 'torch/_inductor/output_code.py CompiledFxGraph.__call__, torch 2.14.1 wheel',
        },
        {
          // All layers and the head in one graph.
          frames: [
            'call /tmp/torchinductor_user/op/copqrstuvwxy.py',
            `__call__ ${VENV}/torch/_inductor/output_code.py`,
            `call_func_at_runtime_with_args ${VENV}/torch/_functorch/_aot_autograd/utils.py`,
            `forward ${VENV}/torch/_functorch/_aot_autograd/runtime_wrappers.py`,
            `apply ${VENV}/torch/autograd/function.py`,
            `runtime_wrapper ${VENV}/torch/_functorch/_aot_autograd/runtime_wrappers.py`,
            `_fn ${VENV}/torch/_dynamo/eval_frame.py`,
            `forward ${VENV}/transformers/models/llama/modeling_llama.py`,
            `compile_wrapper ${VENV}/torch/_dynamo/eval_frame.py`,
            ...moduleCall(VENV),
            ...SCRIPT,
          ],
          from: 'torch/_inductor/output_code.py CompiledFxGraph.__call__, torch 2.14.1 wheel, of transformers/models/llama/modeling_llama.py LlamaForCausalLM.forward',
          phase: 'forward',
        },
      ],
    },
  ];
}
