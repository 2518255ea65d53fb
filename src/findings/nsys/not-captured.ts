/**
 * What a report lacks, and why: a switch was off, or it was on and nothing was recorded, or the report does not contain
 * its settings. An option is advised only where the settings show that it was off.
 */
import type { NsysMissing } from '../../model/results/nsys.js';
import type { QueryRow } from '../../store/query-catalog.js';

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
  const add = (what: string, on: boolean | null, option: string, about: RegExp, more: readonly string[] = []): void => {
    const reasons = on === false ? offReasons(settings.event_types, option) : [...more, ...messages(facts, about)];
    if (on !== false && isPartial) reasons.unshift('the export may have left it out (--tables, --times)');
    const state = on === null ? 'unknown' : on ? 'on' : 'off';
    missing.push({ what, state, option: on === false ? option : null, reasons });
  };
  if (!tables.has('CUDA_GPU_MEMORY_USAGE_EVENTS')) {
    const pages = `${facts.vmmCalls} calls mapped memory page by page, which memory events do not contain`;
    const on = settings.cuda === false ? false : facts.memoryEventsCollected;
    const option = settings.cuda === false ? '--trace=cuda --cuda-memory-usage=true' : '--cuda-memory-usage=true';
    add('allocations of the driver', on, option, ABOUT_CUDA, facts.vmmCalls > 0 ? [pages] : []);
  } else if (!tables.has('CUDA_CALLCHAINS'))
    add('which library made each allocation', settings.backtraces, '--cudabacktrace=memory', ABOUT_CUDA);
  if (!tables.has('CUPTI_ACTIVITY_KIND_RUNTIME'))
    add('CUDA calls and those that failed', settings.cuda, '--trace=cuda', ABOUT_CUDA);
  if (!tables.has('CUPTI_ACTIVITY_KIND_KERNEL'))
    add('kernels and the time of the device', settings.cuda, '--trace=cuda', ABOUT_CUDA);
  if (!tables.has('NVTX_EVENTS'))
    add('NVTX ranges: phases and training steps', settings.nvtx, '--trace=cuda,nvtx', ABOUT_NVTX);
  if (!tables.has('CUBLAS_EVENTS') && !tables.has('CUDNN_EVENTS'))
    add(
      'calls of cuBLAS and cuDNN, the owners of the workspaces',
      settings.libraries,
      '--trace=cuda,nvtx,cublas,cudnn',
      /cublas|cudnn/i,
    );
  const { graphTrace } = facts;
  if (graphTrace !== null && /graph/i.test(graphTrace) && tables.has('CUPTI_ACTIVITY_KIND_GRAPH_TRACE'))
    missing.push({
      what: 'kernels inside CUDA graphs',
      state: 'off',
      option: '--cuda-graph-trace=node',
      reasons: [`CUDA graphs were traced as ${graphTrace.toLowerCase()}`],
    });
  if (isPartial)
    missing.push({
      what: 'what the export left out',
      state: 'off',
      option: 'nsys export without --tables and --times',
      reasons: [],
    });
  return missing;
}

function offReasons(eventTypes: string | null, option: string): string[] {
  if (option === '--cuda-memory-usage=true') return ['COLLECT_GPU_MEMORY_USAGE is false'];
  return eventTypes === null ? [] : [`events captured: ${eventTypes}`];
}

/** Errors before warnings. */
function messages({ diagnostics }: CaptureFacts, about: RegExp): string[] {
  const order = ['error', 'warning'];
  const rank = (severity: string): number => (order.indexOf(severity) + order.length + 1) % (order.length + 1);
  return diagnostics
    .filter(({ text }) => about.test(text))
    .sort((a, b) => rank(a.severity) - rank(b.severity))
    .slice(0, MOST_REASONS)
    .map(
      ({ severity, text, count }) => `${severity}: ${text.replace(/\.$/, '')}${count > 1 ? ` (${count} times)` : ''}`,
    );
}
