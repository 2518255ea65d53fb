import type { LineFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';
import { SGLANG_PRODUCER } from './load.js';

const FIGURE = /(#running-req|#queue-req|(?:full )?token usage): (\d{1,9}(?:\.\d{1,4})?)/g;
const NAMES: Readonly<Record<string, readonly [name: string, unit: string | null]>> = {
  '#running-req': ['sglang.running_requests', 'count'],
  '#queue-req': ['sglang.waiting_requests', 'count'],
  'token usage': ['sglang.token_usage', null],
  'full token usage': ['sglang.token_usage', null],
};

export const SGLANG_BATCH: LineFormat = {
  form: 'line',
  id: 'sglang.batch',
  title: 'Requests in flight and share of the KV cache in use',
  producer: SGLANG_PRODUCER,
  versions: '0.2 and later; `Decode batch [51341],` since 0.5.4',
  source: 'python/sglang/srt/managers/scheduler_metrics_mixin.py, log_decode_stats and log_prefill_stats',
  anchors: ['Decode batch', 'Prefill batch'],
  fields: {
    kind: 'Decode or Prefill',
    list: '`name: value, `; the requests and the share of tokens in use (1 is full) are kept',
  },
  pattern: /(?<kind>Decode|Prefill) batch(?: \[\d{1,12}\])?[.,] (?<list>#[^\n]{1,600})/g,
  read({ list = '' }, emit) {
    for (const [, key = '', text] of list.matchAll(FIGURE)) {
      const [name, unit] = NAMES[key]!;
      emit(figureFinding(name, Number(text), unit));
    }
  },
};
