/**
 * What a report lacks, and why: a switch was off, or it was on and nothing was recorded, or the report does not contain
 * its settings. An option is advised only where the settings show that it was off.
 */

import { sentencesOf, type Text } from '../../model/statement.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { NsysMissing } from './unworded.js';

const sentence = sentencesOf('nsys', 'missing');

export interface CaptureFacts {
  readonly tables: ReadonlySet<string>;
  readonly settings: QueryRow<'nsys.capture_settings'>;
  readonly memoryEventsCollected: boolean | null;
  readonly graphTrace: string | null;
  readonly isPartial: boolean;
  /** Calls that map memory by pages. */
  readonly vmmCalls: number;
  readonly diagnostics: readonly { readonly severity: string; readonly text: string; readonly count: number }[];
}

/** The profiler's messages about CUDA, and about NVTX. Those about clocks and CPU samples explain nothing here. */
const ABOUT_CUDA = /\bCUDA\b|CUPTI|GPU|driver/i;
const ABOUT_NVTX = /NVTX/i;
const MOST_REASONS = 4;

export function notCaptured(facts: CaptureFacts): NsysMissing[] {
  const { tables, settings, isPartial } = facts;
  const missing: NsysMissing[] = [];
  const add = (what: Text, on: boolean | null, option: string, about: RegExp, more: readonly Text[] = []): void => {
    const reasons = on === false ? offReasons(settings.event_types, option) : [...more, ...messages(facts, about)];
    if (on !== false && isPartial) reasons.unshift(sentence('partial'));
    const state = on === null ? 'unknown' : on ? 'on' : 'off';
    missing.push({ what, state, option: on === false ? option : null, reasons });
  };
  if (!tables.has('CUDA_GPU_MEMORY_USAGE_EVENTS')) {
    const pages = sentence('mapped', { calls: facts.vmmCalls });
    const on = settings.cuda === false ? false : facts.memoryEventsCollected;
    const option = settings.cuda === false ? '--trace=cuda --cuda-memory-usage=true' : '--cuda-memory-usage=true';
    add(sentence('driver'), on, option, ABOUT_CUDA, facts.vmmCalls > 0 ? [pages] : []);
  } else if (!tables.has('CUDA_CALLCHAINS'))
    add(sentence('backtraces'), settings.backtraces, '--cudabacktrace=memory', ABOUT_CUDA);
  if (!tables.has('CUPTI_ACTIVITY_KIND_RUNTIME')) add(sentence('calls'), settings.cuda, '--trace=cuda', ABOUT_CUDA);
  if (!tables.has('CUPTI_ACTIVITY_KIND_KERNEL')) add(sentence('kernels'), settings.cuda, '--trace=cuda', ABOUT_CUDA);
  if (!tables.has('NVTX_EVENTS')) add(sentence('nvtx'), settings.nvtx, '--trace=cuda,nvtx', ABOUT_NVTX);
  if (!tables.has('CUBLAS_EVENTS') && !tables.has('CUDNN_EVENTS'))
    add(sentence('libraries'), settings.libraries, '--trace=cuda,nvtx,cublas,cudnn', /cublas|cudnn/i);
  const { graphTrace } = facts;
  if (graphTrace !== null && /graph/i.test(graphTrace) && tables.has('CUPTI_ACTIVITY_KIND_GRAPH_TRACE'))
    missing.push({
      what: sentence('in_graphs'),
      state: 'off',
      option: '--cuda-graph-trace=node',
      reasons: [sentence('traced_as', { how: graphTrace.toLowerCase() })],
    });
  if (isPartial)
    missing.push({
      what: sentence('left_out'),
      state: 'off',
      option: 'nsys export without --tables and --times',
      reasons: [],
    });
  return missing;
}

function offReasons(eventTypes: string | null, option: string): Text[] {
  if (option === '--cuda-memory-usage=true') return [sentence('usage_off')];
  return eventTypes === null ? [] : [sentence('captured_types', { types: eventTypes })];
}

/** Errors before warnings. */
function messages({ diagnostics }: CaptureFacts, about: RegExp): Text[] {
  const order = ['error', 'warning'];
  const rank = (severity: string): number => (order.indexOf(severity) + order.length + 1) % (order.length + 1);
  return diagnostics
    .filter(({ text }) => about.test(text))
    .sort((a, b) => rank(a.severity) - rank(b.severity))
    .slice(0, MOST_REASONS)
    .map(({ severity, text, count }) =>
      sentence('message', { severity, text: text.replace(/\.$/, ''), times: count > 1 ? count : null }),
    );
}
