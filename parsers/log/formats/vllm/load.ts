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
};
