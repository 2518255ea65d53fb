/** `knobs` and `explain` as a user has them; docs/screens has `explain offload-pp`. */
import { describe, expect, it } from 'vitest';
import type { KnobsResult } from '../../src/model/results/knowledge.js';
import { buildCli } from '../support/cli.js';

const cli = buildCli();

describe('knobs', () => {
  it('lists what can be turned, by group', () => {
    const { stdout } = cli.expect(0, ['explain', 'knobs']);
    expect(stdout).toMatch(/^\d+ knobs\n\nProcess environment and launch\n {2}knob +memory +speed +evidence\n/);
    expect(stdout).toMatch(/PYTORCH_CUDA_ALLOC_CONF +less +none: 0 % +measured/);
  });

  it('filters, in text and in JSON', () => {
    expect(cli.expect(0, ['explain', 'knobs', 'memory:more']).stdout).toContain('nccl_ub');
    const result = cli.expect(0, ['explain', 'knobs', 'offload', '--json=full']).json<KnobsResult>();
    expect(result.schema).toBe('mbforensics/knobs@1');
    expect(result.knobs.find(({ id }) => id === 'cpu_offloading')?.spellings.megatron_bridge[0]).toBe(
      'cfg.model.cpu_offloading',
    );
  });
});

describe('explain', () => {
  it('takes a flag of Megatron as a name', () => {
    for (const args of [
      ['explain', '--recompute-modules'],
      ['explain', '--', '--recompute-modules'],
    ])
      expect(cli.expect(0, args).stdout).toMatch(/^recompute_modules {2}\(knob, a setting\)\n/);
  });

  it('refuses an unknown name, with similar names', () => {
    const { stderr, stdout } = cli.expect(2, ['explain', 'offload-ppp']);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^mbforensics: error MBF1001: nothing is called "offload-ppp"; like it: offload-pp/);
  });
});
