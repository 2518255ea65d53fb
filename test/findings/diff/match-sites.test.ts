/** Matching of allocation sites: what an edit of the code must not change, and that every byte stays. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../../src/attribution/frames/call-site.js';
import { matchSites, type SiteDelta } from '../../../src/findings/diff/match-sites.js';
import type { StackGroup, TraceLine } from '../../../src/findings/diff/side-stacks.js';

const MIB = 2 ** 20;

/** `name@path:line`, innermost first. */
function frame(text: string): Frame {
  const [, name, filename, line] = /^(.*)@(.*):(\d+)$/.exec(text)!;
  return { name: name!, filename: filename!, line: Number(line) };
}
function group(stack: readonly string[], bytes: number, count = 1, kind = ''): StackGroup {
  return { frames: stack.map(frame), kind, bytes, count };
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
interface Program {
  readonly groups: readonly StackGroup[];
}

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
      groups.set(key, {
        frames,
        kind,
        bytes: (known?.bytes ?? 0) + size * count * 512,
        count: (known?.count ?? 0) + count,
      });
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
            ...site,
            site: site.a_site ?? site.b_site,
            a_site: site.b_site,
            b_site: site.a_site,
            a_bytes: site.b_bytes,
            b_bytes: site.a_bytes,
            delta_bytes: 0 - site.delta_bytes,
            a_count: site.b_count,
            b_count: site.a_count,
            delta_count: 0 - site.delta_count,
            match: mirrored[site.match as keyof typeof mirrored] ?? site.match,
            a_groups: site.b_groups,
            b_groups: site.a_groups,
          })),
        ).toEqual(there.map((site) => ({ ...site, site: site.b_site ?? site.a_site })));
      }),
      { numRuns: 300 },
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

  it('ranks a site first that grew in place', () => {
    const a = [
      group(['forward@/repo/code/x/mlp.py:50', 'main@/repo/code/x/train.py:3'], 1024 * MIB, 8),
      group(['forward@/repo/code/x/norm.py:12', 'main@/repo/code/x/train.py:3'], 4096 * MIB, 8),
      group(['init@/repo/code/x/model.py:9', 'main@/repo/code/x/train.py:2'], 2048 * MIB, 1),
    ];
    const b = a.map((one, i) => (i === 0 ? { ...one, bytes: 9 * one.bytes, count: 72 } : one));
    const [first, ...others] = matchSites(a, b);
    expect(first).toMatchObject({
      site: 'forward code/x/mlp.py:50',
      match: 'exact',
      a_bytes: 1024 * MIB,
      b_bytes: 9216 * MIB,
      delta_bytes: 8192 * MIB,
      delta_count: 64,
    });
    expect(changed(others)).toEqual([]);
  });

  it('aligns the lines of one function in order, also where the shifted lines meet the old ones', () => {
    const lines = (by: number, sizes: readonly number[]): StackGroup[] =>
      sizes.map((size, i) =>
        group([`forward@/repo/code/x/mlp.py:${10 + 7 * i + by}`, 'main@/repo/code/x/train.py:3'], size * MIB, 4),
      );
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
    expect(
      shifted(equal, false)
        .map((site) => site.match)
        .sort(),
    ).toEqual([...equal.slice(1).map(() => 'exact'), 'only_a', 'only_b']);
  });

  it('does not pair two lines of one function that both traces have, though each side holds memory of one only', () => {
    const at = (line: number): StackGroup =>
      group([`forward@/repo/code/x/mlp.py:${line}`, 'main@/repo/code/x/train.py:3'], 64 * MIB, 4);
    const trace = [216, 220].map((line): TraceLine => ({ ...at(line).frames[0]!, allocs: 40, bytes: 640 * MIB }));
    const sites = matchSites([at(216)], [at(220)], { a: trace, b: trace });
    expect(sites.map(({ site, match }) => `${match} ${site}`).sort()).toEqual([
      'only_a forward code/x/mlp.py:216',
      'only_b forward code/x/mlp.py:220',
    ]);
    // The only line that either trace has is the same.
    const [one] = matchSites([at(216)], [at(220)], { a: trace.slice(0, 1), b: trace.slice(1) });
    expect(one).toMatchObject({ match: 'line_shifted', delta_bytes: 0 });
  });

  it('distinguishes an added line from the shifted ones', () => {
    const at = (line: number, mib: number): StackGroup =>
      group([`forward@/repo/code/x/mlp.py:${line}`, 'main@/repo/code/x/train.py:3'], mib * MIB, 4);
    const sites = matchSites([at(10, 100), at(20, 7), at(30, 40)], [at(10, 100), at(15, 64), at(22, 7), at(32, 40)]);
    expect(changed(sites)).toMatchObject([
      { site: 'forward code/x/mlp.py:15', match: 'only_b', delta_bytes: 64 * MIB },
    ]);
    expect(sites.map((site) => site.match).sort()).toEqual(['exact', 'line_shifted', 'line_shifted', 'only_b']);
  });

  it('knows a function by its callers and callees when its name changed', () => {
    const stack = (name: string): string[] => [
      'linear@/usr/lib/python3/dist-packages/torch/nn/functional.py:1',
      `${name}@/repo/code/x/layers.py:10`,
      'forward@/repo/code/x/block.py:20',
      'step@/repo/code/x/train.py:30',
    ];
    const remaining = group(['forward@/repo/code/x/block.py:21', 'step@/repo/code/x/train.py:30'], 5 * MIB);
    const sites = matchSites(
      [group(stack('project_in'), 64 * MIB), remaining],
      [group(stack('up_projection'), 80 * MIB), remaining],
    );
    expect(sites).toMatchObject([
      {
        site: 'up_projection code/x/layers.py:10',
        a_site: 'project_in code/x/layers.py:10',
        match: 'renamed',
        delta_bytes: 16 * MIB,
      },
      { match: 'exact', delta_bytes: 0 },
    ]);
  });

  it('knows a function that went to another file', () => {
    const stack = (file: string): string[] => [
      `gather@/repo/code/x/${file}:10`,
      'forward@/repo/code/x/block.py:20',
      'step@/repo/code/x/train.py:30',
    ];
    const remaining = group(['other@/repo/code/x/comm.py:5', 'step@/repo/code/x/train.py:30'], MIB);
    const sites = matchSites(
      [group(stack('comm.py'), 64 * MIB), remaining],
      [group(stack('collectives.py'), 64 * MIB), remaining],
    );
    expect(sites).toMatchObject([
      { site: 'gather code/x/collectives.py:10', a_site: 'gather code/x/comm.py:10', match: 'moved', delta_bytes: 0 },
      { match: 'exact' },
    ]);
  });

  it('does not take functions for one another only because both are new', () => {
    const a = [group(['save@/repo/code/x/checkpoint.py:10', 'main@/repo/code/x/train.py:3'], 64 * MIB)];
    const b = [
      group(['gather@/repo/code/y/comm.py:10', 'step@/repo/code/y/loop.py:4', 'run@/repo/code/y/go.py:9'], 64 * MIB),
    ];
    expect(labels(matchSites(a, b))).toEqual(new Set(['only_a', 'only_b']));
  });

  it('follows an extracted helper to the line that calls it', () => {
    const outer = ['step@/repo/code/x/train.py:30'];
    const a = [
      group(['forward@/repo/code/x/mlp.py:50', ...outer], 64 * MIB),
      group(['forward@/repo/code/x/mlp.py:60', ...outer], 8 * MIB),
    ];
    const b = [
      group(['scratch@/repo/code/x/buffers.py:5', 'forward@/repo/code/x/mlp.py:50', ...outer], 64 * MIB),
      group(['forward@/repo/code/x/mlp.py:60', ...outer], 8 * MIB),
    ];
    const sites = matchSites(a, b);
    expect(changed(sites)).toEqual([]);
    expect(sites[0]).toMatchObject({
      site: 'forward code/x/mlp.py:50',
      match: 'exact',
      through: 'scratch code/x/buffers.py:5',
    });
    // But a new helper next to what was there is new.
    const more = [
      ...a,
      group(['scratch@/repo/code/x/buffers.py:5', 'forward@/repo/code/x/mlp.py:70', ...outer], 16 * MIB),
    ];
    expect(changed(matchSites(a, more))).toMatchObject([
      { site: 'scratch code/x/buffers.py:5', match: 'only_b', delta_bytes: 16 * MIB },
    ]);
  });

  it('pairs generated code by who called it', () => {
    const call = (hash: string, line: number, caller: string): string[] => [
      `call@/tmp/torchinductor_me/${hash.slice(1, 3)}/${hash}.py:${line}`,
      'run@/opt/lib/python3.12/site-packages/torch/_inductor/utils.py:2128',
      `${caller}@/repo/code/x/block.py:20`,
    ];
    const long = (seed: string): string => `c${seed.repeat(60).slice(0, 51)}`;
    const a = [group(call(long('ab'), 100, 'attention'), 64 * MIB), group(call(long('cd'), 100, 'mlp'), 8 * MIB)];
    const b = [group(call(long('ef'), 130, 'attention'), 96 * MIB), group(call(long('gh'), 90, 'mlp'), 8 * MIB)];
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
    const backward = (node: string): string[] => [
      'c10::cuda::CUDACachingAllocator::malloc(void**, int)@CUDACachingAllocator.cpp:0',
      `torch::autograd::generated::${node}::apply(std::vector<at::Tensor>&&)@Functions.cpp:0`,
      'torch::autograd::Engine::thread_main()@??:0',
    ];
    const a = [group(backward('MulBackward0'), MIB), group(backward('MmBackward0'), MIB)];
    const b = [group(backward('MulBackward0'), MIB), group(backward('MmBackward0'), 3 * MIB)];
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
