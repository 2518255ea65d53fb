/** diffusers: denoisers, autoencoders, schedulers and pipelines. */
import type { AttributionRule } from '../match/rule.js';
import { CONDA, DIST, moduleCall, SCRIPT, VENV } from './sample-tails.js';

const LISTED = 'huggingface/diffusers src/diffusers/models (folder listing; the file not read)';

function unet(packages: string): readonly string[] {
  return [
    `forward ${packages}/diffusers/models/transformers/transformer_2d.py`,
    ...moduleCall(packages),
    `forward ${packages}/diffusers/models/unets/unet_2d_blocks.py`,
    ...moduleCall(packages),
    `forward ${packages}/diffusers/models/unets/unet_2d_condition.py`,
    ...moduleCall(packages),
    `__call__ ${packages}/diffusers/pipelines/stable_diffusion/pipeline_stable_diffusion.py`,
    `decorate_context ${packages}/torch/utils/_contextlib.py`,
    ...SCRIPT,
  ];
}

export const DIFFUSERS_LAYERS: readonly AttributionRule[] = [
  {
    id: 'diffusers.attention',
    component: 'activation',
    sub_component: 'attention',
    at: { file: ['diffusers/models/attention_processor.py', 'diffusers/models/attention_dispatch.py'] },
    source: `diffusers/models/attention_processor.py Attention, AttnProcessor2_0.__call__, ${LISTED}`,
    samples: [
      {
        frames: [
          `__call__ ${CONDA}/diffusers/models/attention_processor.py`,
          `forward ${CONDA}/diffusers/models/attention_processor.py`,
          ...moduleCall(CONDA),
          `forward ${CONDA}/diffusers/models/attention.py`,
          ...moduleCall(CONDA),
          ...unet(CONDA),
        ],
        from: `diffusers/models/attention_processor.py AttnProcessor2_0.__call__ (not read)`,
      },
    ],
  },
  {
    id: 'diffusers.autoencoder',
    component: 'activation',
    sub_component: 'autoencoder',
    at: {
      file: ['diffusers/models/autoencoders/*.py', 'diffusers/models/vae.py', 'diffusers/models/autoencoder_kl.py'],
      function: ['forward', '_decode', '_encode', 'decode', 'encode', '*tiled_*', 'blend_*'],
    },
    source: `diffusers/models/autoencoders/autoencoder_kl.py, vae.py, ${LISTED}`,
    samples: [
      {
        frames: [
          `forward ${VENV}/diffusers/models/autoencoders/vae.py`,
          ...moduleCall(VENV),
          `_decode ${VENV}/diffusers/models/autoencoders/autoencoder_kl.py`,
          `decode ${VENV}/diffusers/models/autoencoders/autoencoder_kl.py`,
          `wrapper ${VENV}/diffusers/utils/accelerate_utils.py`,
          `__call__ ${VENV}/diffusers/pipelines/stable_diffusion/pipeline_stable_diffusion.py`,
          ...SCRIPT,
        ],
        from: 'diffusers/models/autoencoders/vae.py Decoder.forward (not read)',
      },
    ],
  },
  {
    id: 'diffusers.denoiser',
    component: 'activation',
    sub_component: 'denoiser',
    at: { file: 'diffusers/models/**', function: ['forward', '__call__'] },
    source: `diffusers/models/unets, transformers, resnet.py, attention.py, ${LISTED}`,
    samples: [
      {
        frames: [
          `gelu ${DIST}/diffusers/models/activations.py`,
          `forward ${DIST}/diffusers/models/activations.py`,
          ...moduleCall(DIST),
          `forward ${DIST}/diffusers/models/attention.py`,
          ...moduleCall(DIST),
          ...unet(DIST),
        ],
        from: 'diffusers/models/activations.py GEGLU.forward (not read)',
      },
    ],
  },
  {
    id: 'diffusers.scheduler',
    component: 'activation',
    sub_component: 'latents',
    at: [
      {
        file: 'diffusers/schedulers/*.py',
        function: ['step', 'add_noise', 'scale_model_input', 'convert_model_output', 'get_velocity', '*_update'],
      },
      {
        file: 'diffusers/pipelines/**',
        function: ['prepare_latents', 'prepare_image_latents', 'encode_prompt', '_encode_prompt'],
      },
      { file: 'diffusers/utils/torch_utils.py', function: 'randn_tensor' },
    ],
    without: { file: 'torch/nn/modules/module.py', function: '_call_impl' },
    source: 'diffusers/schedulers/scheduling_ddim.py DDIMScheduler.step; pipelines prepare_latents (not read)',
    samples: [
      {
        frames: [
          `step ${CONDA}/diffusers/schedulers/scheduling_ddim.py`,
          `__call__ ${CONDA}/diffusers/pipelines/stable_diffusion/pipeline_stable_diffusion.py`,
          `decorate_context ${CONDA}/torch/utils/_contextlib.py`,
          ...SCRIPT,
        ],
        from: 'diffusers/schedulers/scheduling_ddim.py DDIMScheduler.step (not read)',
      },
    ],
  },
];
