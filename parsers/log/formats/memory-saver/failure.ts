import { failureLine } from '../../failures/failure-line.js';

const OUT_OF_MEMORY = /error: {0,2}2\b|result= ?2\b|out of memory/;

/**
 * torch_memory_saver backs torch's segments with cuMemCreate and ends the process if that fails: without an exception
 * or a message of the allocator. A trainer that wakes up fails this way while the engine still occupies the device.
 */
export const MEMORY_SAVER_FAILURE = failureLine({
  id: 'torch_memory_saver.driver-oom',
  title: 'Memory could not be taken back from the driver',
  producer: 'torch_memory_saver (SGLang, slime, verl, Megatron-LM)',
  versions: '0.0.4 and later: ` result=2`; `: 2 (out of memory)` since 0.0.9',
  source: 'torch_memory_saver csrc/macro.h and csrc/utils.h, CURESULT_CHECK and CUDAUtils::cu_mem_create',
  anchors: ['] CUresult error'],
  kind: (groups) => (OUT_OF_MEMORY.test(groups['text'] ?? '') ? 'cuda_oom_driver' : 'other'),
  pattern:
    /(?<text>\[[\w.]{1,40}\.(?:cpp|h)\] CUresult error(?: {1,2}result= ?\d{1,4}|: \d{1,4}(?: \([\w ]{1,60}\))?)(?: {1,2}file=[^\s]{1,120})?(?: func=\w{1,60})?(?: line=\d{1,6})?)/g,
});
