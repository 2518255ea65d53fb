import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileGlob, compilePatterns, namedFrame } from '../../src/attribution/match/frame-pattern.js';
import { SEED } from '../support/level.js';

const fits = (pattern: Parameters<typeof compilePatterns>[0], name: string, path = 'a.py'): boolean =>
  compilePatterns(pattern)(namedFrame(name, path));

describe('frame patterns', () => {
  it('fits paths by their ends, from a folder on', () => {
    const mlp = { file: 'core/transformer/mlp.py' };
    expect(fits(mlp, 'forward', '/opt/megatron/core/transformer/mlp.py')).toBe(true);
    expect(fits(mlp, 'forward', 'core/transformer/mlp.py')).toBe(true);
    expect(fits(mlp, 'forward', '/opt/encore/transformer/mlp.py')).toBe(false);
    expect(fits(mlp, 'forward', '/opt/core/transformer/mlp.py/x.py')).toBe(false);
    expect(fits({ file: 'mlp.py' }, 'forward', '/a/fused_mlp.py')).toBe(false);
    expect(fits({ file: 'mlp.py' }, 'forward', 'mlp.py')).toBe(true);
  });

  it('lets * stay within a folder, and ** not', () => {
    expect(fits({ file: 'moe/*.py' }, 'f', '/x/moe/router.py')).toBe(true);
    expect(fits({ file: 'moe/*.py' }, 'f', '/x/moe/deep/router.py')).toBe(false);
    expect(fits({ file: 'moe/**/router.py' }, 'f', '/x/moe/deep/er/router.py')).toBe(true);
    expect(fits({ file: 'moe/**/router.py' }, 'f', '/x/moe/router.py')).toBe(true);
    expect(fits({ file: 'dist_checkpointing/**' }, 'f', '/x/dist_checkpointing/strategies/torch.py')).toBe(true);
    expect(fits({ file: 'dist_checkpointing/**' }, 'f', '/x/dist_checkpointing')).toBe(false);
    expect(fits({ file: 'models/*/modeling_*.py' }, 'f', '/t/models/llama/modeling_llama.py')).toBe(true);
    expect(fits({ file: 'a/**/b/**/c.py' }, 'f', '/a/x/b/b/y/c.py')).toBe(true);
    expect(fits({ file: 'a/**/b/**/c.py' }, 'f', '/b/x/a/y/c.py')).toBe(false);
  });

  it('takes bare and qualified function names for the same', () => {
    for (const name of ['backward', 'CheckpointFunction.backward', 'a.CheckpointFunction.backward']) {
      expect(fits({ function: 'backward' }, name)).toBe(true);
      expect(fits({ function: 'CheckpointFunction.backward' }, name)).toBe(true);
    }
    expect(fits({ function: 'CheckpointFunction.backward' }, 'Other.backward')).toBe(false);
    expect(fits({ function: 'back' }, 'backward')).toBe(false);
    expect(fits({ function: 'inner' }, 'outer.<locals>.inner')).toBe(true);
    // C++ names hold dots and colons of their own.
    expect(fits({ function: '*::getNewWorkspace*' }, 'at::cuda::getNewWorkspace()')).toBe(true);
  });

  it('needs both parts at the same frame, and one of several patterns', () => {
    const both = { file: 'optim/adam.py', function: ['step', '_init_group'] };
    expect(fits(both, 'step', 'torch/optim/adam.py')).toBe(true);
    expect(fits(both, 'step', 'torch/optim/sgd.py')).toBe(false);
    expect(fits(both, 'zero_grad', 'torch/optim/adam.py')).toBe(false);
    expect(fits([both, { function: 'zero_grad' }], 'zero_grad', 'torch/optim/adam.py')).toBe(true);
  });

  it('refuses patterns that say nothing', () => {
    for (const pattern of [
      {},
      { function: 'A.*' },
      { file: '' },
      { file: '/abs.py' },
      { file: '**' },
      { file: '**/**' },
      { function: '' },
    ])
      expect(() => compilePatterns(pattern)).toThrow();
  });

  it('agrees with a regular expression on every glob', () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 8 });
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 12 });
    fc.assert(
      fc.property(piece, text, (pattern, name) => {
        const source = pattern.replace(/[.]/g, '\\.').replace(/\*+/g, '.*');
        expect(compileGlob(pattern)(name)).toBe(new RegExp(`^${source}$`).test(name));
      }),
      { numRuns: 2000, seed: SEED },
    );
  });

  it('comes to an end on a long text, whatever the pattern', () => {
    const test = compileGlob(`${'*a'.repeat(2000)}b`);
    const text = 'a'.repeat(200_000);
    // A backtracking matcher would not come to an end.
    expect(test(text)).toBe(false);
  });
});
