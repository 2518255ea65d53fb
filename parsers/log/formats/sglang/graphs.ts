import type { LineFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';
import { GIB, memoryFigure } from '../units.js';
import { budgetFinding } from '../vllm/budget-finding.js';
import { SGLANG_PRODUCER } from './load.js';

const free = (text: string, moment: string) => memoryFigure('device_free', text, 'GB', GIB, { moment });

export const SGLANG_GRAPHS: LineFormat = {
  form: 'line',
  id: 'sglang.cuda-graphs',
  title: 'CUDA graphs are captured',
  producer: SGLANG_PRODUCER,
  versions: '0.2 and later; memory since 0.4.4, `Capture <what> CUDA graph` since 2026',
  source:
    'python/sglang/srt/model_executor/model_runner.py, ModelRunner.init_cuda_graphs; python/sglang/srt/speculative/eagle_worker.py',
  anchors: ['cuda graph begin. ', 'cuda graph end. ', 'CUDA graph begin. ', 'CUDA graph end. '],
  fields: {
    what: 'what is captured: draft, target decode, prefill; nothing for the model itself',
    before: 'GiB free before',
    seconds: 'seconds, `Time elapsed`',
    elapsed: 'seconds, `elapsed`',
    rest: '`mem usage` and `avail mem` in either order: GiB that went away, GiB free after',
  },
  pattern:
    /Capture (?:(?<what>[A-Za-z]{1,20}(?: [a-z]{1,20}){0,3}) )?(?:cuda|CUDA) graph (?:begin\.(?: This can take up to several minutes\.)?(?: (?:backend|num_tokens_per_(?:req|bs)|bs)=[^\n]{1,400}?)? ?avail mem=(?<before>\d{1,6}\.\d{1,4}) GB|end\. (?:Time elapsed: (?<seconds>\d{1,7}\.\d{1,4}) s|elapsed=(?<elapsed>\d{1,7}\.\d{1,4}) s)(?<rest>(?:[.,] (?:mem usage|avail mem)=-?\d{1,6}\.\d{1,4} GB){0,2}))/g,
  read({ what, before, seconds, elapsed, rest = '' }, emit) {
    const name = what === undefined ? 'cuda graph' : `${what} cuda graph`;
    if (before !== undefined) {
      emit({ row: 'phase', phase: 'graph_capture', label: `SGLang: Capture ${name} begin` });
      emit(free(before, `SGLang: Capture ${name} begin`));
      return;
    }
    emit(figureFinding('sglang.graph_capture_time', Number(seconds ?? elapsed), 's'));
    for (const [, key = '', text = ''] of rest.matchAll(/(mem usage|avail mem)=(-?\d{1,6}\.\d{1,4})/g)) {
      if (key === 'mem usage')
        emit(budgetFinding('sglang.cuda_graphs', text, what === undefined ? {} : { text: what }));
      else emit(free(text, `SGLang: Capture ${name} end`));
    }
  },
};
