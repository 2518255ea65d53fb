/** What CUDA graphs are thought to take, and took. */
import type { LineFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';
import { budgetFinding } from './budget-finding.js';
import { VLLM_PRODUCER } from './load.js';

const CAPTURED = { row: 'phase', phase: 'graph_capture', label: 'vLLM: Graph capturing finished' } as const;

export const VLLM_GRAPH_CAPTURE: LineFormat = {
  form: 'line',
  id: 'vllm.graph-capture',
  title: 'Graphs are captured',
  producer: VLLM_PRODUCER,
  versions: '0.2.7 and later; the memory since 0.6.3 [mem]',
  source: 'vllm/worker/model_runner.py and vllm/v1/worker/gpu_model_runner.py, GPUModelRunner.capture_model',
  anchors: ['Graph capturing finished in '],
  fields: { seconds: 'seconds', graphs: 'GiB that went away meanwhile' },
  pattern: /Graph capturing finished in (?<seconds>\d{1,7}) secs(?:, took (?<graphs>-?\d{1,6}(?:\.\d{1,4})?) GiB)?/g,
  read({ seconds, graphs }, emit) {
    emit(CAPTURED);
    emit(figureFinding('vllm.graph_capture_time', Number(seconds), 's'));
    if (graphs !== undefined) emit(budgetFinding('vllm.cuda_graphs', graphs));
  },
};

export const VLLM_GRAPH_ESTIMATE: LineFormat = {
  form: 'line',
  id: 'vllm.graph-estimate',
  title: 'Memory of graphs, estimated before they are captured and measured after',
  producer: VLLM_PRODUCER,
  versions: '0.19 and later; kept free by default since 0.21',
  source:
    'vllm/v1/worker/gpu_model_runner.py, profile_cudagraph_memory; vllm/v1/worker/gpu_worker.py, determine_available_memory and compile_or_warm_up_model',
  anchors: ['Estimated CUDA graph memory: ', 'CUDA graph pool memory: ', ' is equivalent to --gpu-memory-utilization='],
  fields: {
    estimate: 'GiB, estimated',
    actual: 'GiB, measured',
    planned: 'GiB, estimated',
    share: 'gpu_memory_utilization as configured',
    equivalent: 'what the share was before graphs were taken into account',
  },
  pattern:
    /Estimated CUDA graph memory: (?<estimate>-?\d{1,6}(?:\.\d{1,4})?) GiB|CUDA graph pool memory: (?<actual>-?\d{1,6}(?:\.\d{1,4})?) GiB \(actual\), (?<planned>-?\d{1,6}(?:\.\d{1,4})?) GiB \(estimated\)|--gpu-memory-utilization=(?<share>\d\.\d{1,6}) is equivalent to --gpu-memory-utilization=(?<equivalent>-?\d\.\d{1,6})/g,
  read({ estimate, actual, planned, share, equivalent }, emit) {
    const estimated = estimate ?? planned;
    if (actual !== undefined) emit(budgetFinding('vllm.cuda_graphs', actual));
    if (estimated !== undefined) emit(budgetFinding('vllm.cuda_graphs_estimated', estimated));
    if (share !== undefined) {
      emit(figureFinding('vllm.gpu_memory_utilization', Number(share), null));
      emit(figureFinding('vllm.gpu_memory_utilization_without_graphs', Number(equivalent), null));
    }
  },
};
