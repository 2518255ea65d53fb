/** Loading of the weights. */
import type { LineFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';
import { budgetFinding } from './budget-finding.js';

export const VLLM_PRODUCER = 'vLLM';

export const VLLM_WEIGHTS: LineFormat = {
  form: 'line',
  id: 'vllm.weights',
  title: 'What the weights took',
  producer: VLLM_PRODUCER,
  versions:
    '0.2.7 to 0.7 `Loading model weights took`; 0.8 and later `Model loading took`, `GB` until 0.8, `memory` since 0.14',
  source:
    'vllm/worker/model_runner.py and vllm/v1/worker/gpu_model_runner.py, GPUModelRunner.load_model; vllm/v1/worker/gpu/model_runner.py',
  anchors: ['Loading model weights took ', 'Model loading took '],
  fields: {
    weights: 'device memory that went away while loading (DeviceMemoryProfiler), GiB under either name',
    seconds: 'seconds',
  },
  pattern:
    /(?:Loading model weights|Model loading) took (?<weights>-?\d{1,6}(?:\.\d{1,6})?) Gi?B(?:(?: memory)? and (?<seconds>\d{1,7}(?:\.\d{1,9})?) ?s)?/g,
  read({ weights = '', seconds }, emit) {
    emit(budgetFinding('vllm.weights', weights));
    if (seconds !== undefined) emit(figureFinding('vllm.load_time', Number(seconds), 's'));
  },
  samples: [
    {
      text: 'INFO 02-05 10:11:12 model_runner.py:1110] Loading model weights took 14.9888 GB',
      rows: [budgetFinding('vllm.weights', '14.9888')],
    },
    {
      text: 'INFO 05-21 18:17:01 [model_runner.py:1146] Model loading took 7.5552 GiB and 30.643008 seconds',
      rows: [budgetFinding('vllm.weights', '7.5552'), figureFinding('vllm.load_time', 30.643008, 's')],
    },
    {
      text: 'INFO 03-01 10:11:12 [gpu_model_runner.py:5405] Model loading took 55.19 GiB memory and 48.502592 seconds',
      rows: [budgetFinding('vllm.weights', '55.19'), figureFinding('vllm.load_time', 48.502592, 's')],
    },
  ],
};

export const VLLM_STARTING_TO_LOAD: LineFormat = {
  form: 'line',
  id: 'vllm.starting-to-load',
  title: 'The engine begins to load its model',
  producer: VLLM_PRODUCER,
  versions: '0.5 and later',
  source: 'vllm/worker/model_runner.py and vllm/v1/worker/gpu_model_runner.py, GPUModelRunner.load_model',
  anchors: ['Starting to load model '],
  fields: { model: 'name or path of the model' },
  pattern: /Starting to load model (?<model>[^\s]{1,200}?)\.{3}/g,
  read({ model = '' }, emit) {
    emit({ row: 'phase', phase: 'model_build', label: `vLLM: Starting to load model ${model}` });
  },
  samples: [
    {
      text: 'INFO 02-05 10:11:02 model_runner.py:1110] Starting to load model Qwen/Qwen2.5-7B...',
      rows: [{ row: 'phase', phase: 'model_build', label: 'vLLM: Starting to load model Qwen/Qwen2.5-7B' }],
    },
  ],
};
