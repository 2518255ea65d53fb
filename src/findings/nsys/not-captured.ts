/** What a report lacks because it was not captured, and the option that captures it. */
import type { NsysMissing } from '../../model/results/nsys.js';

export interface CaptureFacts {
  readonly tables: ReadonlySet<string>;
  readonly memoryEventsCollected: boolean | null;
  /** Rows of CUDA_GPU_MEMORY_USAGE_EVENTS whose call chain is known. */
  readonly hasCallChains: boolean;
  readonly graphTrace: string | null;
  readonly isPartial: boolean;
}

export function notCaptured(facts: CaptureFacts): NsysMissing[] {
  const { tables } = facts;
  const missing: NsysMissing[] = [];
  const add = (what: string, option: string): void => void missing.push({ what, option });
  if (!tables.has('CUDA_GPU_MEMORY_USAGE_EVENTS')) {
    const why =
      facts.memoryEventsCollected === true
        ? ' (they were collected: no allocation in the capture, or left out of the export)'
        : '';
    add(`allocations of the driver${why}`, '--cuda-memory-usage=true');
  } else if (!facts.hasCallChains) add('which library made each allocation', '--cudabacktrace=memory');
  if (!tables.has('CUPTI_ACTIVITY_KIND_RUNTIME')) add('CUDA calls and those that failed', '--trace=cuda');
  if (!tables.has('CUPTI_ACTIVITY_KIND_KERNEL')) {
    const why = tables.has('CUPTI_ACTIVITY_KIND_RUNTIME')
      ? ' (calls were traced: no kernel ran, or they were left out of the export)'
      : '';
    add(`kernels and the time of the device${why}`, '--trace=cuda');
  }
  if (!tables.has('NVTX_EVENTS'))
    add(
      'NVTX ranges: phases and training steps',
      '--trace=cuda,nvtx, and --pytorch=autograd-nvtx or ranges in the program',
    );
  if (!tables.has('CUBLAS_EVENTS') && !tables.has('CUDNN_EVENTS'))
    add('calls of cuBLAS and cuDNN, whose workspaces they are', '--trace=cuda,nvtx,cublas,cudnn');
  if (facts.graphTrace !== null && /graph/i.test(facts.graphTrace) && tables.has('CUPTI_ACTIVITY_KIND_GRAPH_TRACE')) {
    add('kernels inside CUDA graphs', '--cuda-graph-trace=node');
  }
  if (facts.isPartial) add('what the export left out', 'nsys export without --tables and --times');
  return missing;
}
