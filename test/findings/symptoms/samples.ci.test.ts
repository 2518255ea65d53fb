/** The generated samples: what fires on them, and that nothing else does. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findSymptoms } from '../../../src/findings/symptoms/find-symptoms.js';
import { SYMPTOMS } from '../../../src/findings/symptoms/index.js';
import { repoRoot } from '../../store/scratch.js';
import { hitOf, type Observed, observe } from './observed.js';

const NAMES = [
  'llama3-70b-fragmentation',
  'llama3-70b-expandable',
  'llama3-70b-vpp10',
  'llama3-70b-pp8',
  'llama3-70b-tp8',
  'capacity',
  'leak',
  'nccl-outside',
  'host-oom',
];

let runs: Observed;
beforeAll(async () => {
  runs = await observe(Object.fromEntries(NAMES.map((name) => [name, join(repoRoot, 'samples', name)])));
});
afterAll(() => runs.close());

const told = async (run: string, baseline?: string): Promise<string[]> =>
  findSymptoms(await runs.of(run, baseline)).map(({ id, confirmation }) => `${id} ${confirmation}`);

describe('the samples', () => {
  it('show one fragmented rank', async () => {
    expect(await told('llama3-70b-fragmentation')).toEqual(['S1 confirmed']);
    expect(hitOf(await runs.of('llama3-70b-fragmentation'), 'S1')).toMatchObject({
      seen: expect.stringContaining(
        'only rank 0 failed, asking for 1.59 GiB; of the others rank 1 reserved most, 74.20 GiB',
      ),
      confirmation_text: expect.stringContaining('expandable segments off (recorded in a memory snapshot)'),
    });
  });

  it.each(['llama3-70b-expandable', 'llama3-70b-vpp10', 'llama3-70b-pp8', 'llama3-70b-tp8', 'host-oom'])(
    'show nothing in %s, alone or against the golden run',
    async (name) => {
      expect(await told(name)).toEqual([]);
      if (name.startsWith('llama3')) expect(await told(name, 'llama3-70b-expandable')).toEqual([]);
    },
  );

  it('show a full device', async () => {
    expect(await told('capacity')).toEqual(['S2 confirmed', 'S3 confirmed']);
    expect(hitOf(await runs.of('capacity'), 'S2')!.confirmation_text).toContain('model state holds 34.86 GiB');
  });

  it('show a rank that fails alone for other reasons, and say so', async () => {
    expect(await told('leak')).toEqual(['S1 refuted']);
    expect(hitOf(await runs.of('leak'), 'S1')!.confirmation_text).toContain(
      'diagnose finds leak (proven), not fragmentation',
    );
  });

  it("show an export whose collectives are exposed, but not for the guide's reason", async () => {
    expect(await told('nccl-outside')).toEqual(['S1 refuted', 'S21 refuted']);
    expect(hitOf(await runs.of('nccl-outside'), 'S21')!.confirmation_text).toContain('of 32 normalization kernels');
  });
});

describe('the list', () => {
  it('is S1 to S29, each with what a reader needs', () => {
    expect(SYMPTOMS.map(({ id }) => id)).toEqual(Array.from({ length: 29 }, (_, i) => `S${i + 1}`));
    expect(new Set(SYMPTOMS.map(({ name }) => name)).size).toBe(29);
    for (const { id, symptom, cause, confirm, fix } of SYMPTOMS) {
      for (const text of [symptom, cause, confirm, fix]) expect(text.length, id).toBeGreaterThan(5);
    }
  });
});
