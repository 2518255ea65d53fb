/** A leak read from the snapshot alone, and everything that looks like one. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KeepingSite, OomFacts } from '../../../src/findings/verdict/facts.js';
import { lastOfBursts } from '../../../src/findings/verdict/step-clock.js';
import { keepingSites } from '../../../src/findings/verdict/trace-facts.js';
import { GIB, MIB } from '../../../src/model/units.js';
import type { Store } from '../../../src/store/store.js';
import { newStore } from '../../support/new-store.js';
import { OOM_SEQ, stateOf, writeStates } from '../../support/states/hand-made-states.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { messageFacts, runSideOf, tracedFacts, traceOf } from './facts.js';
import { judging, testOf } from './judging.js';

const { judge } = judging();
const run = async (...all: readonly OomFacts[]) => (await judge(...all)).map((outcome) => testOf(outcome, 'leak'));
/** 3 GiB a step over four whole steps and the first one; 2 GiB are missing. */
const KEPT: KeepingSite = { site: 'record monitor.py:58', bytes: 15 * GIB, blocks: 5, steps: 4, bytesPerStep: 3 * GIB };

describe.concurrent('what a trace shows to be kept', () => {
  it('is a leak where it is what was missing, named by its site', async () => {
    const [{ holds, combination, evidence }] = await judge(tracedFacts({ trace: traceOf({ keeping: [KEPT] }) }));
    expect(holds).toMatchObject({ cause: 'leak', confidence: 'high' });
    expect(holds!.summary).toContain('record monitor.py:58');
    expect(holds!.numbers).toMatchObject({ kept_bytes: 15 * GIB, kept_bytes_per_step: 3 * GIB, whole_steps: 4 });
    expect(evidence.map(({ text }) => text).join('\n')).toContain('3.00 GiB left over from each of 4 whole steps');
    expect(combination.join(' ')).toContain('A leak comes before capacity');
  });

  it('is less sure from few steps, unless the log says the same', async () => {
    const steps = traceOf().steps!.slice(0, 3);
    const trace = traceOf({ steps, keeping: [KEPT] });
    const growth = {
      samples: 5,
      firstIteration: 2,
      lastIteration: 6,
      firstBytes: 60 * GIB,
      lastBytes: 72 * GIB,
      bytesPerIteration: 3 * GIB,
      r2: 1,
      lateBytes: 6 * GIB,
      source: { path: 'log' },
    };
    const [alone, agreed] = await run(tracedFacts({ trace }), tracedFacts({ trace, growth }));
    expect(alone).toMatchObject({ outcome: 'holds', confidence: 'medium' });
    expect(agreed).toMatchObject({ outcome: 'holds', confidence: 'high' });
  });

  it('is none where it does not decide it: too little, or nothing', async () => {
    const little = { ...KEPT, bytes: GIB };
    // Peaks that vary with the data, ends that do not.
    const varied = traceOf().steps!.map((step, i) => ({ ...step, peakBytes: (50 + 5 * i) * GIB }));
    const [kept, none, peaks] = await run(
      tracedFacts({ trace: traceOf({ keeping: [little] }) }),
      tracedFacts({ trace: traceOf() }),
      tracedFacts({ trace: traceOf({ steps: varied }) }),
    );
    expect(kept!.outcome).toBe('fails');
    expect(none).toMatchObject({ outcome: 'fails', text: expect.stringContaining('no call site keeps') });
    expect(peaks).toMatchObject({
      outcome: 'fails',
      text: expect.stringMatching(/ends differ by 0 B, their peaks by 15\.00 GiB/),
    });
  });

  it('is one where the ends of the steps rise without a pause, whatever the sites', async () => {
    const steps = traceOf().steps!.map((step, i) => ({ ...step, endBytes: (40 + 2 * i) * GIB }));
    // A warm-up that levels off brings nothing in its later half; one that pauses is no leak of every step.
    const plateau = [40, 46, 49, 49.2, 49.3].map((end, i) => ({ ...steps[i]!, endBytes: Math.round(end * GIB) }));
    const paused = [40, 42, 44, 44, 46].map((end, i) => ({ ...steps[i]!, endBytes: Math.round(end * GIB) }));
    const [rising, ...others] = await run(
      ...[steps, plateau, paused].map((all) => tracedFacts({ trace: traceOf({ steps: all }) })),
    );
    // No site is named, so somebody has to look.
    expect(rising).toMatchObject({ outcome: 'holds', confidence: 'medium' });
    expect(others.map(({ outcome }) => outcome)).toEqual(['fails', 'fails']);
  });

  it('overrules a trend of printed lines, and tells the contradiction', async () => {
    const growth = {
      samples: 10,
      firstIteration: 2,
      lastIteration: 11,
      firstBytes: 40 * GIB,
      lastBytes: 44.5 * GIB,
      bytesPerIteration: 0.5 * GIB,
      r2: 0.999,
      source: { path: 'log' },
    };
    const [outcome] = await judge(tracedFacts({ trace: traceOf(), growth }));
    expect(outcome.holds).toMatchObject({ cause: 'capacity', confidence: 'medium' });
    expect(outcome.combination.join(' ')).toContain('the trace does not show it');
  });

  it('cannot be told where no step is marked, unless hardly anything is repeated', async () => {
    const unmarked = traceOf({ steps: null, stepsBy: null });
    const [unknown, none] = await run(
      tracedFacts({ trace: unmarked }),
      tracedFacts({ trace: { ...unmarked, repeatedBytes: GIB } }),
    );
    expect(unknown).toMatchObject({ outcome: 'not_testable', capture: 'memory_each_iteration' });
    expect(none!.outcome).toBe('fails');
  });
});

describe.concurrent('a log', () => {
  const growth = {
    samples: 8,
    firstIteration: 2,
    lastIteration: 9,
    firstBytes: 40 * GIB,
    lastBytes: 48 * GIB,
    bytesPerIteration: GIB,
    r2: 0.9,
    source: { path: 'log' },
  };

  it('distinguishes a warm-up that levels off from a leak by its later half', async () => {
    const [leaks, settles] = await run(
      ...[4 * GIB, GIB].map((lateBytes) => messageFacts({ growth: { ...growth, lateBytes } })),
    );
    expect(leaks!.outcome).toBe('holds');
    expect(settles).toMatchObject({ outcome: 'fails', text: expect.stringContaining('levels off') });
  });

  it('reports that only reserved memory grew', async () => {
    const flat = { ...growth, lastBytes: growth.firstBytes, bytesPerIteration: 0, r2: 0 };
    const [result] = await run(
      messageFacts({
        growth: flat,
        reservedGrowth: { ...growth, lastBytes: growth.firstBytes + 5 * GIB },
      }),
    );
    expect(result).toMatchObject({
      outcome: 'fails',
      text: expect.stringContaining('reserved memory grew by 5.00 GiB, allocated memory did not'),
    });
  });

  it('of two iterations foretells the one that fails, or says nothing', async () => {
    // 79 GiB to fill: from 60 GiB after iteration 2, by 3 GiB each, in iteration 9.
    const early = {
      firstIteration: 1,
      secondIteration: 2,
      bytesPerIteration: 3 * GIB,
      peakBytes: 60 * GIB,
      lastIteration: 8,
      source: { path: 'log', line: 4 },
    };
    const [foretold, ...others] = await run(
      ...[
        {},
        ...[3, 6, 10, 400].map((lastIteration) => ({ lastIteration })),
        // Noise foretells nothing, nor does growth that fills the device at once.
        { bytesPerIteration: 60 * MIB, lastIteration: 325 },
        { bytesPerIteration: 12 * GIB, lastIteration: 3 },
      ].map((changes) => messageFacts({ run: runSideOf({ early: { ...early, ...changes } }) })),
    );
    expect(foretold).toMatchObject({ outcome: 'holds', confidence: 'medium' });
    expect(others).toHaveLength(6);
    for (const { outcome } of others) expect(outcome).toBe('not_testable');
  });

  it('rules a leak out where there was no time for one', async () => {
    const all = await run(...[0, 1, 2].map((completed) => messageFacts({ run: runSideOf({ completed }) })));
    expect(all.map(({ outcome }) => outcome)).toEqual(['fails', 'fails', 'not_testable']);
  });
});

let store: Store;
beforeAll(async () => {
  store = await newStore(join(temporaryDirectory(), 'leak.duckdb'), { threads: 1 });
  await store.insertRows(
    'stack',
    [1, 2, 3, 4].map((stack_id) => ({ stack_id, depth: 1, content_key: '', site: `site ${stack_id}` })),
  );
});
afterAll(() => store.close());

/** Five steps of 100 entries; the failing one begins at 500. */
const SPANS = Array.from({ length: 5 }, (_, i) => ({ firstSeq: 100 * i, lastSeq: 100 * i + 99, whole: true }));

/** Of live blocks as rows of [entry of birth, stack, GiB]. */
async function sites(
  rows: readonly (readonly [seq: number, stack: number, gib: number])[],
  spans = SPANS,
  startsEmpty = true,
) {
  const blocks = rows.map(([allocSeq, stack, gib], i) => ({ offset: 100 * GIB * i, size: gib * GIB, allocSeq, stack }));
  await writeStates(store, [{ state: stateOf([{ total: 100 * GIB * rows.length, blocks }]) }]);
  const keeping = await keepingSites(store, { snapshot_id: 1, device: 0, at_seq: OOM_SEQ - 1 }, spans, startsEmpty);
  return keeping.map(({ site, bytes, steps }) => [site, bytes / GIB, steps]);
}

describe('sites that keep', () => {
  it('leave something of every step, about as much each time', async () => {
    expect(
      await sites([
        [50, 1, 1],
        [150, 1, 1],
        [250, 1, 1],
        [350, 1, 1],
        [450, 1, 1],
      ]),
    ).toEqual([['site 1', 5, 4]]);
    // One step in four may be missed, no more.
    expect(
      await sites([
        [150, 1, 1],
        [250, 1, 1],
        [450, 1, 1],
      ]),
    ).toEqual([['site 1', 3, 3]]);
    expect(
      await sites([
        [150, 1, 1],
        [450, 1, 1],
      ]),
    ).toEqual([]);
    // A growing buffer is one large block next to small ones.
    expect(
      await sites([
        [150, 1, 1],
        [250, 1, 1],
        [350, 1, 9],
        [450, 1, 1],
      ]),
    ).toEqual([]);
  });

  it('are neither parameters and optimizer states, nor what is in flight', async () => {
    const burst = Array.from({ length: 20 }, (_, i) => [80 + i, 1, 1] as const);
    const inFlight = Array.from({ length: 20 }, (_, i) => [500 + i, 2, 1] as const);
    const before = Array.from({ length: 20 }, () => [-1, 3, 1] as const);
    expect(await sites([...burst, ...inFlight, ...before])).toEqual([]);
    // Late initialisation, of one step.
    expect(await sites(Array.from({ length: 8 }, (_, i) => [210 + i, 4, 1] as const))).toEqual([]);
  });

  it('show in a ring of one whole step only next to older blocks of the same site', async () => {
    const ring = [
      { firstSeq: 0, lastSeq: 99, whole: false },
      { firstSeq: 100, lastSeq: 199, whole: true },
    ];
    expect(
      await sites(
        [
          [-1, 1, 1],
          [-1, 1, 1],
          [-1, 1, 1],
          [150, 1, 1],
        ],
        ring,
        false,
      ),
    ).toEqual([['site 1', 4, 1]]);
    expect(
      await sites(
        [
          [-1, 1, 1],
          [150, 1, 1],
        ],
        ring,
        false,
      ),
    ).toEqual([]);
  });
});

describe('steps without annotations', () => {
  it('end where a burst of the optimizer’s allocations ends', () => {
    expect(lastOfBursts([900, 901, 905, 1900, 1905, 2900, 2905], 3800)).toEqual([905, 1905, 2905]);
    // The failing request is itself in the optimizer's step.
    expect(lastOfBursts([900, 905, 1900, 1905], 1907)).toEqual([905]);
    expect(lastOfBursts([], 100)).toEqual([]);
  });
});
