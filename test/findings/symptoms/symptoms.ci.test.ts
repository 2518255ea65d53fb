/** Each symptom of the guides: confirmed, refuted, untested and silent where `cases/` and the samples have it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findSymptoms } from '../../../src/findings/symptoms/index.js';
import { SYMPTOMS } from '../../../src/knowledge/symptoms.js';
import { GIB } from '../../../src/model/units.js';
import { wordSymptom } from '../../../src/report/start/symptom-words.js';
import { sampled } from '../../support/level.js';
import { samplePath, storeOf } from '../../support/stores.js';
import { timelineOf } from './devices.js';
import { answer, hitOf, type Observed, observe, observedStore } from './observed.js';
import { readCases, readFile } from './read-cases.js';

let runs: Observed;
afterAll(() => runs.close());

function expectText(actual: unknown, text: string): void {
  const rest = text.slice(1);
  if (text.startsWith('~')) expect(actual).toContain(rest);
  else if (text.startsWith('!')) expect(actual).not.toContain(rest);
  else if (text.startsWith('/')) expect(actual).toMatch(new RegExp(rest.slice(0, -1)));
  else expect(actual).toBe(text);
}

describe.each(['constraints', 'communication', 'oom', 'speed'])('%s', (name) => {
  const cases = readCases(name);
  beforeAll(async () => {
    await runs?.close();
    runs = await observe(cases.runs);
  });

  it.each(sampled(cases.questions, 8))('$id of $question: $expected', async (asked) => {
    const { id, run, baseline, timelines, expected, says } = asked;
    const evidence = await runs.of(run, baseline);
    const shown = timelines === undefined ? evidence : { ...evidence, timelines: timelines.map(timelineOf) };
    const hit = hitOf(shown, id);
    if (expected !== undefined) expect(hit?.confirmation ?? 'silent').toBe(expected);
    for (const [field, text] of says) expectText(hit![field as keyof typeof hit], text);
  });

  if (name !== 'oom') return;

  it('S3 needs the size of the device, and is untested between the bounds of the estimate', async () => {
    const { estimate: running, device_bytes: device } = await runs.of('large-but-runs');
    expect(running.estimate!.stages[0]!.low_bytes).toBeGreaterThan(device.value!);
    const evidence = await runs.of('not-launched');
    const { stages, hottest } = evidence.estimate.estimate!;
    const { low_bytes: low, total_bytes: total } = stages[hottest]!;
    const between = { ...evidence.device_bytes, value: Math.round((low + total) / 2) };
    expect(answer({ ...evidence, device_bytes: between }, 'S3')).toBe('untested');
    expect(answer({ ...evidence, device_bytes: { ...between, value: null } }, 'S3')).toBe('silent');
  });

  it('S17 needs to know what is left on the device', async () => {
    const evidence = await runs.of('partial-full');
    const withStates = (bytes: number): typeof evidence => ({
      ...evidence,
      ooms: evidence.ooms.map((verdict) => ({
        ...verdict,
        components: { moment: 'oom', total_bytes: 76 * GIB, parts: [{ component: 'optimizer_state', bytes }] } as const,
      })),
    });
    const confirmed = hitOf(withStates(10 * GIB), 'S17')!;
    expect(confirmed.confirmation).toBe('confirmed');
    const states = '10.00 GiB of optimizer state are live on the device at 50 % offloaded';
    expect(confirmed.confirmation_text).toContain(states);
    expect(answer(withStates(GIB), 'S17')).toBe('refuted');
  });
});

const GOLDEN = 'llama3-70b-expandable';
const SAMPLES = readFile('samples') as readonly {
  readonly name: string;
  readonly hits?: Readonly<Record<string, string>>;
  readonly says?: readonly (readonly [id: string, field: 'seen' | 'confirmation_text', text: string])[];
}[];

describe('samples', () => {
  beforeAll(async () => {
    await runs?.close();
    const paths = SAMPLES.map(({ name }) => samplePath(name));
    runs = await observedStore(storeOf(paths, ['--each']));
  });

  it.each(SAMPLES)('$name shows $hits and no more', async ({ name, hits = {}, says = [] }) => {
    const evidence = await runs.of(name);
    const told = (from: typeof evidence): string[][] =>
      findSymptoms(from)
        .map(wordSymptom)
        .map(({ id, confirmation }) => [id, confirmation]);
    expect(told(evidence)).toEqual(Object.entries(hits));
    for (const [id, field, text] of says) expectText(hitOf(evidence, id)![field], text);
    const isOfModel = name.startsWith('llama3') && says.length === 0;
    if (isOfModel) expect(told(await runs.of(name, GOLDEN))).toEqual([]);
  });
});

it('lists S1 to S29, each with what a reader needs', () => {
  expect(SYMPTOMS.map(({ id }) => id)).toEqual(Array.from({ length: 29 }, (_, i) => `S${i + 1}`));
  expect(new Set(SYMPTOMS.map(({ name }) => name)).size).toBe(29);
  for (const { id, symptom, cause, confirm, fix } of SYMPTOMS) {
    for (const text of [symptom, cause, confirm, fix]) expect(text.length, id).toBeGreaterThan(5);
  }
});
