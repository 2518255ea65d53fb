/** Matching of allocation sites: what an edit of the code must not change, and that every byte stays. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../../src/attribution/frames/call-site.js';
import { matchSites, type SiteDelta } from '../../../src/findings/diff/match-sites.js';
import type { StackGroup, TraceLine } from '../../../src/findings/diff/side-stacks.js';
import { SEED } from '../../support/level.js';

const MIB = 2 ** 20;

/** `name@path:line`, innermost first. */
function frame(text: string): Frame {
  const [, name, filename, line] = /^(.*)@(.*):(\d+)$/.exec(text)!;
  return { name: name!, filename: filename!, line: Number(line) };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const bytesOf = (groups: readonly StackGroup[]): number => sum(groups.map((one) => one.bytes));
const changed = (sites: readonly SiteDelta[]): SiteDelta[] => sites.filter((site) => site.delta_bytes !== 0);
const labels = (sites: readonly SiteDelta[]): Set<string> => new Set(sites.map((site) => site.match));

function expectSums(sites: readonly SiteDelta[], a: readonly StackGroup[], b: readonly StackGroup[]): void {
  expect(sum(sites.map((site) => site.a_bytes))).toBe(bytesOf(a));
  expect(sum(sites.map((site) => site.b_bytes))).toBe(bytesOf(b));
  expect(sum(sites.map((site) => site.delta_bytes))).toBe(bytesOf(b) - bytesOf(a));
  expect(sum(sites.map((site) => site.a_count))).toBe(sum(a.map((one) => one.count)));
  expect(sum(sites.map((site) => site.b_count))).toBe(sum(b.map((one) => one.count)));
  // Each group stands at one site.
  expect(sites.flatMap((site) => site.a_groups).sort((p, q) => p - q)).toEqual(a.map((_, i) => i));
  expect(sites.flatMap((site) => site.b_groups).sort((p, q) => p - q)).toEqual(b.map((_, i) => i));
}

/** A program: functions in files, each with allocating lines, called from others. */
const ROOT = '/srv/somebody/project';
type Program = { readonly groups: readonly StackGroup[] };

const programs: fc.Arbitrary<Program> = fc
  .array(
    fc.record({
      file: fc.integer({ min: 0, max: 5 }),
      fn: fc.integer({ min: 0, max: 3 }),
      line: fc.integer({ min: 1, max: 40 }),
      callers: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 4 }),
      torch: fc.boolean(),
      size: fc.integer({ min: 1, max: 64 }),
      count: fc.integer({ min: 1, max: 9 }),
      kind: fc.constantFrom('', '', '', '(freed there)'),
    }),
    { maxLength: 40 },
  )
  .map((sites) => {
    const groups = new Map<string, StackGroup>();
    for (const { file, fn, line, callers, torch, size, count, kind } of sites) {
      const frames: Frame[] = [
        ...(torch ? [frame('linear@/opt/conda/lib/python3.11/site-packages/torch/nn/functional.py:2114')] : []),
        frame(`fn${fn}_${file}@${ROOT}/package${file % 3}/module${file}.py:${100 * fn + line}`),
        ...callers.map((caller) => frame(`caller${caller}@${ROOT}/package/outer${caller % 2}.py:${10 + caller}`)),
        frame(`<module>@${ROOT}/train.py:7`),
      ];
      const key = JSON.stringify([frames, kind]);
      const known = groups.get(key);
      const bytes = (known?.bytes ?? 0) + size * count * 512;
      groups.set(key, { frames, kind, bytes, count: (known?.count ?? 0) + count });
    }
    return { groups: [...groups.values()] };
  });

/** The same program with every frame as `change` has it. */
function withFrames(program: Program, change: (frame: Frame) => Frame): StackGroup[] {
  return program.groups.map((one) => ({ ...one, frames: one.frames.map(change) }));
}

const isOurs = (one: Frame): boolean => one.filename.startsWith(ROOT);

describe('matchSites', () => {
  it('finds nothing between a side and itself, in whatever order', () => {
    fc.assert(
      fc.property(programs, fc.infiniteStream(fc.nat()), ({ groups }, random) => {
        const shuffled = groups
          .map((one) => [random.next().value as number, one] as const)
          .sort(([p], [q]) => p - q)
          .map(([, one]) => one);
        const sites = matchSites(groups, shuffled);
        expect(changed(sites)).toEqual([]);
        expect([...labels(sites)].filter((label) => label !== 'exact')).toEqual([]);
        expectSums(sites, groups, shuffled);
      }),
    );
  });

  it('keeps every byte, and is the negative of the exchanged question', () => {
    const mirrored = { only_a: 'only_b', only_b: 'only_a' } as const;
    fc.assert(
      fc.property(programs, programs, ({ groups: a }, { groups: b }) => {
        const there = matchSites(a, b);
        const back = matchSites(b, a);
        expectSums(there, a, b);
        expect(
          back.map((site) => ({
            ...{ ...site, site: site.a_site ?? site.b_site, a_site: site.b_site, b_site: site.a_site },
            ...{ a_bytes: site.b_bytes, b_bytes: site.a_bytes, delta_bytes: 0 - site.delta_bytes },
            ...{ a_count: site.b_count, b_count: site.a_count, delta_count: 0 - site.delta_count },
            ...{ a_groups: site.b_groups, b_groups: site.a_groups },
            match: mirrored[site.match as keyof typeof mirrored] ?? site.match,
          })),
        ).toEqual(there.map((site) => ({ ...site, site: site.b_site ?? site.a_site })));
      }),
      { numRuns: 300, seed: SEED },
    );
  });

  it('sees through lines that moved down in every file', () => {
    fc.assert(
      fc.property(programs, fc.integer({ min: 1, max: 500 }), (program, by) => {
        const b = withFrames(program, (one) => (isOurs(one) ? { ...one, line: one.line + by } : one));
        const sites = matchSites(program.groups, b);
        expect(changed(sites)).toEqual([]);
        expect([...labels(sites)].filter((label) => label !== 'line_shifted')).toEqual([]);
      }),
    );
  });

  it('sees through another place of installation', () => {
    const roots = fc.constantFrom('/opt/project', '/srv/somebody/other', '/w', '/mnt/scratch/a/b/c/project');
    fc.assert(
      fc.property(programs, roots, (program, root) => {
        const b = withFrames(program, (one) => ({
          ...one,
          filename: one.filename
            .replace(ROOT, root)
            .replace('/opt/conda/lib/python3.11/site-packages', '/usr/local/lib/python3.12/dist-packages'),
        }));
        const sites = matchSites(program.groups, b);
        expect(changed(sites)).toEqual([]);
        expect([...labels(sites)].filter((label) => label !== 'exact')).toEqual([]);
      }),
    );
  });

  it('sees through a file that moved while its neighbours stayed', () => {
    fc.assert(
      fc.property(programs, (program) => {
        const moved = `${ROOT}/package1/module1.py`;
        const target = `${ROOT}/elsewhere/deeper/module1.py`;
        const b = withFrames(program, (one) => (one.filename === moved ? { ...one, filename: target } : one));
        const sites = matchSites(program.groups, b);
        expect(changed(sites)).toEqual([]);
        for (const site of sites) expect(site.match).toBe(site.site.includes('module1.py') ? 'moved' : 'exact');
      }),
    );
  });

  it('sees through a wrapper put anywhere in the stacks', () => {
    fc.assert(
      fc.property(programs, fc.nat({ max: 5 }), (program, at) => {
        const wrapper = frame(`wrapped@${ROOT}/tools/decorators.py:31`);
        const b = program.groups.map((one) => {
          const place = Math.min(at, one.frames.length - 1);
          return { ...one, frames: [...one.frames.slice(0, place), wrapper, ...one.frames.slice(place)] };
        });
        const sites = matchSites(program.groups, b);
        expect(changed(sites)).toEqual([]);
        expect([...labels(sites)].filter((label) => label !== 'exact')).toEqual([]);
      }),
    );
  });

  /** `forward mlp:50 < main train:3`, innermost first, of files in `/repo/code/x`; a path may be whole. */
  const at = (stack: string, mib: number, count = 1): StackGroup => {
    const frames = stack.split(' < ').map((text) => {
      const [, name, file, line] = /^(.*) (\S+):(\d+)$/.exec(text)!;
      return { name: name!, filename: /[.?]/.test(file!) ? file! : `/repo/code/x/${file}.py`, line: Number(line) };
    });
    return { frames, kind: '', bytes: mib * MIB, count };
  };
  const MAIN = 'main train:3';
  const STEP = 'step train:30';
  const matches = (sites: readonly SiteDelta[]): string[] => sites.map(({ site, match }) => `${match} ${site}`).sort();

  it('ranks a site first that grew in place', () => {
    const a = [
      ...[at(`forward mlp:50 < ${MAIN}`, 1024, 8), at(`forward norm:12 < ${MAIN}`, 4096, 8)],
      at('init model:9 < main train:2', 2048),
    ];
    const b = a.map((one, i) => (i === 0 ? { ...one, bytes: 9 * one.bytes, count: 72 } : one));
    const [first, ...others] = matchSites(a, b);
    expect(first).toMatchObject({
      ...{ site: 'forward code/x/mlp.py:50', match: 'exact', a_bytes: 1024 * MIB, b_bytes: 9216 * MIB },
      ...{ delta_bytes: 8192 * MIB, delta_count: 64 },
    });
    expect(changed(others)).toEqual([]);
  });

  it('aligns the lines of one function in order, also where the shifted lines meet the old ones', () => {
    const lines = (by: number, sizes: readonly number[]): StackGroup[] =>
      sizes.map((size, i) => at(`forward mlp:${10 + 7 * i + by} < ${MAIN}`, size, 4));
    const trace = (groups: readonly StackGroup[]): TraceLine[] =>
      groups.map(({ frames, bytes, count }) => ({ ...frames[0]!, allocs: 16 * count, bytes: 16 * bytes }));
    const shifted = (sizes: readonly number[], isTraced: boolean): SiteDelta[] => {
      const [a, b] = [lines(0, sizes), lines(7, sizes)];
      return matchSites(a, b, isTraced ? { a: trace(a), b: trace(b) } : undefined);
    };
    const equal = Array.from({ length: 10 }, () => 8);
    for (const sites of [shifted([100, 3, 40], false), shifted([100, 3, 40], true), shifted(equal, true)]) {
      expect(labels(sites)).toEqual(new Set(['line_shifted']));
      expect(sites.every((site) => site.delta_bytes === 0)).toBe(true);
    }
    // What is live does not show it where all lines are alike: a line that both have is then the same.
    const expected = [...equal.slice(1).map(() => 'exact'), 'only_a', 'only_b'];
    const found = shifted(equal, false).map((site) => site.match);
    expect(found.sort()).toEqual(expected);
  });

  it('does not pair two lines of one function that both traces have, though each side holds memory of one only', () => {
    const live = (line: number): StackGroup => at(`forward mlp:${line} < ${MAIN}`, 64, 4);
    const trace = [216, 220].map((line): TraceLine => ({ ...live(line).frames[0]!, allocs: 40, bytes: 640 * MIB }));
    const sites = matchSites([live(216)], [live(220)], { a: trace, b: trace });
    expect(matches(sites)).toEqual(['only_a forward code/x/mlp.py:216', 'only_b forward code/x/mlp.py:220']);
    // The only line that either trace has is the same.
    const [one] = matchSites([live(216)], [live(220)], { a: trace.slice(0, 1), b: trace.slice(1) });
    expect(one).toMatchObject({ match: 'line_shifted', delta_bytes: 0 });
  });

  it('distinguishes an added line from the shifted ones', () => {
    const lines = (...all: readonly (readonly [line: number, mib: number])[]) =>
      all.map(([line, mib]) => at(`forward mlp:${line} < ${MAIN}`, mib, 4));
    const sites = matchSites(lines([10, 100], [20, 7], [30, 40]), lines([10, 100], [15, 64], [22, 7], [32, 40]));
    const added = { site: 'forward code/x/mlp.py:15', match: 'only_b', delta_bytes: 64 * MIB };
    expect(changed(sites)).toMatchObject([added]);
    expect(sites.map((site) => site.match).sort()).toEqual(['exact', 'line_shifted', 'line_shifted', 'only_b']);
  });

  it('recognises a function by its callers and callees when its name changed', () => {
    const stack = (name: string): string =>
      `linear /usr/lib/python3/dist-packages/torch/nn/functional.py:1 < ${name} layers:10 < forward block:20 < ${STEP}`;
    const remaining = at(`forward block:21 < ${STEP}`, 5);
    const sites = matchSites([at(stack('project_in'), 64), remaining], [at(stack('up_projection'), 80), remaining]);
    const [site, a_site] = ['up_projection code/x/layers.py:10', 'project_in code/x/layers.py:10'];
    expect(sites).toMatchObject([
      { site, a_site, match: 'renamed', delta_bytes: 16 * MIB },
      { match: 'exact', delta_bytes: 0 },
    ]);
  });

  it('recognises a function that went to another file', () => {
    const stack = (file: string): string => `gather ${file}:10 < forward block:20 < ${STEP}`;
    const remaining = at(`other comm:5 < ${STEP}`, 1);
    const sites = matchSites([at(stack('comm'), 64), remaining], [at(stack('collectives'), 64), remaining]);
    const [site, a_site] = ['gather code/x/collectives.py:10', 'gather code/x/comm.py:10'];
    expect(sites).toMatchObject([{ site, a_site, match: 'moved', delta_bytes: 0 }, { match: 'exact' }]);
  });

  it('does not take functions for one another only because both are new', () => {
    const a = [at(`save checkpoint:10 < ${MAIN}`, 64)];
    const y = '/repo/code/y';
    const b = [at(`gather ${y}/comm.py:10 < step ${y}/loop.py:4 < run ${y}/go.py:9`, 64)];
    expect(labels(matchSites(a, b))).toEqual(new Set(['only_a', 'only_b']));
  });

  it('follows an extracted helper to the line that calls it', () => {
    const a = [at(`forward mlp:50 < ${STEP}`, 64), at(`forward mlp:60 < ${STEP}`, 8)];
    const b = [at(`scratch buffers:5 < forward mlp:50 < ${STEP}`, 64), at(`forward mlp:60 < ${STEP}`, 8)];
    const sites = matchSites(a, b);
    expect(changed(sites)).toEqual([]);
    const through = 'scratch code/x/buffers.py:5';
    expect(sites[0]).toMatchObject({ site: 'forward code/x/mlp.py:50', match: 'exact', through });
    // But a new helper next to what was there is new.
    const more = [...a, at(`scratch buffers:5 < forward mlp:70 < ${STEP}`, 16)];
    expect(changed(matchSites(a, more))).toMatchObject([{ site: through, match: 'only_b', delta_bytes: 16 * MIB }]);
  });

  it('pairs generated code by its callers', () => {
    const call = (seed: string, line: number, caller: string): string => {
      const hash = `c${seed.repeat(60).slice(0, 51)}`;
      const utils = '/opt/lib/python3.12/site-packages/torch/_inductor/utils.py:2128';
      return `call /tmp/torchinductor_me/${hash.slice(1, 3)}/${hash}.py:${line} < run ${utils} < ${caller} block:20`;
    };
    const a = [at(call('ab', 100, 'attention'), 64), at(call('cd', 100, 'mlp'), 8)];
    const b = [at(call('ef', 130, 'attention'), 96), at(call('gh', 90, 'mlp'), 8)];
    expect(matchSites(a, b)).toMatchObject([
      { delta_bytes: 32 * MIB, match: 'line_shifted' },
      { delta_bytes: 0, match: 'line_shifted' },
    ]);
  });

  it('keeps memory without frames, each kind by itself', () => {
    const none = (kind: string, bytes: number): StackGroup => ({ frames: [], kind, bytes, count: 1 });
    const sites = matchSites([none('(no stack)', 5 * MIB)], [none('(no stack)', 7 * MIB), none('(no frames)', MIB)]);
    expect(sites).toMatchObject([
      { site: '(no stack)', delta_bytes: 2 * MIB, match: 'exact' },
      { site: '(no frames)', delta_bytes: MIB, match: 'only_b' },
    ]);
  });

  it('has one site per operator of the backward pass, where no Python is on the stack', () => {
    const backward = (node: string, mib: number): StackGroup => {
      const malloc = 'c10::cuda::CUDACachingAllocator::malloc(void**, int) CUDACachingAllocator.cpp:0';
      const apply = `torch::autograd::generated::${node}::apply(std::vector<at::Tensor>&&) Functions.cpp:0`;
      return at(`${malloc} < ${apply} < torch::autograd::Engine::thread_main() ??:0`, mib);
    };
    const a = [backward('MulBackward0', 1), backward('MmBackward0', 1)];
    const b = [backward('MulBackward0', 1), backward('MmBackward0', 3)];
    expect(matchSites(a, b)).toMatchObject([
      { site: 'MmBackward0::apply', delta_bytes: 2 * MIB },
      { site: 'MulBackward0::apply', delta_bytes: 0 },
    ]);
  });

  it('keeps the sums of very many stacks, whatever they have in common', () => {
    const shared = Array.from({ length: 20 }, (_, i) => frame(`outer${i}@/repo/code/x/outer${i}.py:${i + 1}`));
    const build = (n: number, name: (i: number) => string): StackGroup[] =>
      Array.from({ length: n }, (_, i) => ({
        frames: [frame(name(i)), ...shared],
        kind: '',
        bytes: 512 * (1 + (i % 977)),
        count: 1 + (i % 3),
      }));
    const shapes: readonly ((salt: string) => (i: number) => string)[] = [
      // One function of very many lines; as many functions of one name; as many names; nothing that pairs.
      (salt) => (i) => `call@/repo/code/x/gen.py:${2 * i + (salt === 'a' ? 1 : 14)}`,
      (salt) => (i) => `forward@/repo/code/x/${salt}/m${i}.py:10`,
      (salt) => (i) => `f${salt}${i}@/repo/code/x/layers.py:${i + 1}`,
      (salt) => (i) => `f${salt}${i}@/repo/code/x/${salt}${i}.py:${i + 1}`,
    ];
    for (const shape of shapes) {
      const a = build(10_000, shape('a'));
      const b = build(10_000, shape('b'));
      expectSums(matchSites(a, b), a, b);
    }
  });
});
