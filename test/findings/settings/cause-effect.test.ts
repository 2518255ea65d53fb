/** What a change of a setting has to do with the cause of a failure, and its sentence. */
import { describe, expect, it } from 'vitest';
import { effectOnCause, wayOfAnyCause } from '../../../src/findings/settings/cause-effect.js';
import type { Cause } from '../../../src/model/vocabulary.js';
import { worded } from '../../../src/report/words/worded.js';

const CONF = 'PYTORCH_CUDA_ALLOC_CONF';
const EXPANDABLE = 'expandable_segments:True';
const REDUCES = `${EXPANDABLE} reduces fragmentation, the cause of the failure`;

type Row = readonly [key: string, a: string | null, b: string | null, cause: Cause, way: string | null, text?: string];

describe('effectOnCause', () => {
  const ROWS: readonly Row[] = [
    [CONF, EXPANDABLE, null, 'fragmentation', 'up', REDUCES],
    [CONF, null, EXPANDABLE, 'fragmentation', 'down', REDUCES],
    // Among other options, under the newer name, and spelled out as off.
    [CONF, `max_split_size_mb:512,${EXPANDABLE}`, 'max_split_size_mb:512', 'fragmentation', 'up', REDUCES],
    ['PYTORCH_ALLOC_CONF', EXPANDABLE, 'expandable_segments:False', 'fragmentation', 'up'],
    // What decides goes before what may matter either way.
    [CONF, `max_split_size_mb:512,${EXPANDABLE}`, null, 'fragmentation', 'up', REDUCES],
    [CONF, null, 'max_split_size_mb:512', 'fragmentation', 'unknown'],
    // No change of it, and no effect.
    [CONF, null, 'expandable_segments:False', 'fragmentation', null],
    [CONF, null, 'pinned_use_cuda_host_register:True', 'fragmentation', null],
    [CONF, null, 'constructor:True', 'fragmentation', null],
    [CONF, EXPANDABLE, null, 'capacity', null],
    [CONF, EXPANDABLE, null, 'external_pressure', null],
    ['micro_batch_size', '1', '2', 'fragmentation', null],
    ['no_such_setting', '1', '2', 'fragmentation', null],
    // Other causes, with the default of what is not set.
    ['NCCL_BUFFSIZE', null, '33554432', 'external_pressure', 'up'],
    ['NCCL_BUFFSIZE', null, '4194304', 'external_pressure', null],
    ['NCCL_BUFFSIZE', '33554432', '1048576', 'external_pressure', 'down'],
    ['NCCL_NVLS_ENABLE', '0', '1', 'external_pressure', 'up'],
    ['optimizer_cpu_offload', 'false', 'true', 'host_oom', 'up'],
    ['model.optimizer_cpu_offload', null, 'true', 'host_oom', 'up'],
    ['cuda_graph_impl', 'none', 'local', 'graph_pools', 'up'],
    ['TORCH_NCCL_AVOID_RECORD_STREAMS', '1', null, 'synchronisation', 'up'],
    [CONF, 'per_process_memory_fraction:0.95', 'per_process_memory_fraction:0.6', 'capacity', 'up'],
  ];
  it.each(ROWS.map((row) => ({ row })))('$row', ({ row: [key, a, b, cause, way, text] }) => {
    const effect = effectOnCause({ key, a, b }, cause);
    expect(effect?.way ?? null).toBe(way);
    if (text !== undefined) expect(worded(effect?.text)).toBe(text);
  });

  it.each([null, 'expandable_segments:False'])('is the same sentence for the way back from %s', (without) => {
    const lost = effectOnCause({ key: CONF, a: EXPANDABLE, b: without }, 'fragmentation');
    expect(effectOnCause({ key: CONF, a: without, b: EXPANDABLE }, 'fragmentation')).toEqual({ ...lost, way: 'down' });
  });

  it('knows the direction of the allocator without a cause', () => {
    expect(wayOfAnyCause({ key: CONF, a: EXPANDABLE, b: null })).toBe('up');
    expect(wayOfAnyCause({ key: CONF, a: null, b: EXPANDABLE })).toBe('down');
    expect(wayOfAnyCause({ key: 'micro_batch_size', a: '1', b: '2' })).toBeNull();
  });
});
