/** What is said of events that a report does not have: the settings of its capture, and the profiler's own messages. */
import { describe, expect, it } from 'vitest';
import { type CaptureFacts, notCaptured } from '../../../src/findings/nsys/not-captured.js';
import { worded } from '../../../src/report/words/worded.js';
import { scratchStore } from './stored.js';

const scratch = scratchStore();

let sources = 1000;
async function settings(
  options: readonly (readonly [string, string])[],
  tables: Readonly<Record<string, number>> = {},
) {
  const source_id = ++sources;
  await scratch.store.transaction(async () => {
    await scratch.store.insertRows(
      'nsys_option',
      options.map(([key, value]) => ({ source_id, key, value })),
    );
    await scratch.store.insertRows(
      'nsys_table',
      Object.entries(tables).map(([name, row_count]) => ({ source_id, name, row_count, is_read: true })),
    );
  });
  return (await scratch.store.one('nsys.capture_settings', { source_id }))!;
}

const TYPES = (...types: string[]) => types.map((type) => ['CAPTURE_EVENT_TYPE', type] as const);

const missing = (facts: Partial<CaptureFacts> & Pick<CaptureFacts, 'settings'>) =>
  worded(
    notCaptured({
      ...{ tables: new Set(), memoryEventsCollected: null, graphTrace: null, isPartial: false, vmmCalls: 0 },
      ...{ diagnostics: [], ...facts },
    }),
  );

describe('the settings of a capture', () => {
  it('are unknown where the report does not contain them', async () => {
    const unknown = { event_types: null, cuda: null, nvtx: null, libraries: null, backtraces: null };
    expect(await settings([])).toEqual(unknown);
    expect(await settings([['COLLECT_GPU_MEMORY_USAGE', 'false']])).toMatchObject({ cuda: null, nvtx: null });
  });

  it('are the list of event types, whatever the launched process has', async () => {
    const ofProcess = [
      ['PROCESS_0:COLLECT_CUDA_TRACE', 'false'],
      ['PROCESS_0:COLLECT_NVTX_TRACE', 'true'],
    ] as const;
    expect(await settings([...TYPES('OSRuntime', 'NvtxEvents', 'Cuda'), ...ofProcess])).toEqual({
      ...{ event_types: 'Cuda, NvtxEvents, OSRuntime', cuda: true, nvtx: true, libraries: false, backtraces: false },
    });
    expect(await settings(TYPES('OSRuntime'))).toMatchObject({ cuda: false, nvtx: false });
  });

  it('were on where there are rows', async () => {
    const found = await settings([], { CUPTI_ACTIVITY_KIND_RUNTIME: 2, NVTX_EVENTS: 0 });
    expect(found).toMatchObject({ cuda: true, nvtx: null });
  });
});

describe('what is not in a report', () => {
  const diagnostics = [
    { severity: 'info', text: 'Number of CUDA events collected: 0.', count: 1 },
    { severity: 'warning', text: 'No CUDA events collected. Does the process use CUDA?', count: 27 },
    { severity: 'warning', text: 'No NVTX events collected. Does the process use NVTX?', count: 1 },
    { severity: 'error', text: 'Failed to enable CUPTI: CUPTI_ERROR_NOT_SUPPORTED', count: 1 },
  ];

  it('is advised where the switch was off, with the setting that shows it', async () => {
    const found = missing({ settings: await settings(TYPES('OSRuntime')), memoryEventsCollected: false });
    const options = ['cuda --cuda-memory-usage=true', 'cuda', 'cuda', 'cuda,nvtx', 'cuda,nvtx,cublas,cudnn'];
    expect(found.map(({ state, option }) => [state, option])).toEqual(
      options.map((option) => ['off', `--trace=${option}`]),
    );
    expect(found[1]!.reasons).toEqual(['events captured: OSRuntime']);
  });

  it('is explained by the profiler where the switch was on, errors first', async () => {
    const on = await settings(TYPES('Cuda', 'NvtxEvents'));
    const found = missing({ settings: on, memoryEventsCollected: true, diagnostics });
    const cuda = [
      'error: Failed to enable CUPTI: CUPTI_ERROR_NOT_SUPPORTED',
      'warning: No CUDA events collected. Does the process use CUDA? (27 times)',
      'info: Number of CUDA events collected: 0',
    ];
    const nvtx = ['warning: No NVTX events collected. Does the process use NVTX?'];
    expect(found.slice(0, 4).map(({ state, option, reasons }) => ({ state, option, reasons }))).toEqual(
      [cuda, cuda, cuda, nvtx].map((reasons) => ({ state: 'on', option: null, reasons })),
    );
  });

  it('is not advised where the settings are unknown, or the export may have left it out', async () => {
    for (const { state, option } of missing({ settings: await settings([]) }))
      expect([state, option]).toEqual(['unknown', null]);
    const partial = missing({ settings: await settings(TYPES('Cuda')), isPartial: true });
    expect(partial.find(({ what }) => what.startsWith('kernels'))!.reasons[0]).toContain('may have left it out');
  });

  it('may be memory that is mapped page by page', async () => {
    const on = await settings(TYPES('Cuda'));
    const [memory] = missing({ settings: on, memoryEventsCollected: true, vmmCalls: 12 });
    expect(memory!.reasons).toEqual(['12 calls mapped memory page by page, which memory events do not contain']);
  });
});
