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
  samples: [
    {
      text: '[2025-07-14 05:48:44] Capture cuda graph begin. This can take up to several minutes. avail mem=4.25 GB',
      rows: [
        { row: 'phase', phase: 'graph_capture', label: 'SGLang: Capture cuda graph begin' },
        free('4.25', 'SGLang: Capture cuda graph begin'),
      ],
    },
    {
      text: '[2026-03-04 15:13:15] Capture cuda graph end. Time elapsed: 1.15 s. mem usage=1.06 GB. avail mem=98.23 GB.',
      rows: [
        figureFinding('sglang.graph_capture_time', 1.15, 's'),
        budgetFinding('sglang.cuda_graphs', '1.06'),
        free('98.23', 'SGLang: Capture cuda graph end'),
      ],
    },
    {
      text: 'Capture draft cuda graph end. Time elapsed: 2.50 s. avail mem=9.50 GB. mem usage=0.25 GB.',
      rows: [
        figureFinding('sglang.graph_capture_time', 2.5, 's'),
        free('9.50', 'SGLang: Capture draft cuda graph end'),
        budgetFinding('sglang.cuda_graphs', '0.25', { text: 'draft' }),
      ],
    },
    {
      text: 'Capture target verify CUDA graph begin. backend=full, num_tokens_per_req=4, bs=[1, 2], avail mem=26.27 GB',
      rows: [
        { row: 'phase', phase: 'graph_capture', label: 'SGLang: Capture target verify cuda graph begin' },
        free('26.27', 'SGLang: Capture target verify cuda graph begin'),
      ],
    },
    {
      text: 'Capture target decode CUDA graph end. elapsed=10.10 s, mem usage=0.79 GB, avail mem=10.39 GB.',
      rows: [
        figureFinding('sglang.graph_capture_time', 10.1, 's'),
        budgetFinding('sglang.cuda_graphs', '0.79', { text: 'target decode' }),
        free('10.39', 'SGLang: Capture target decode cuda graph end'),
      ],
    },
    { text: 'Capture cuda graph bs [1, 2, 4, 8]', rows: [] },
  ],
};
