/**
 * The page of advice, whatever the situation: no line too wide, no figure that is none, every fix in one of its places.
 */
import { describe, expect, it } from 'vitest';
import type { AdviseResult } from '../../src/model/results/advise.js';
import { documentJson } from '../../src/report/render/json.js';
import { documentText } from '../../src/report/render/text.js';
import { type AdviseLook, adviseDocument } from '../../src/report/start/advise-document.js';
import { generateConfig, situationOf } from '../findings/advice/generate-configs.js';
import { advise } from '../findings/verdict/worded.js';
import { LLAMA_70B, situationOf as published } from '../support/advice-situation.js';

const adviseText = (result: AdviseResult, look: AdviseLook): string => documentText(adviseDocument(result, look));

const FRAMEWORKS = ['sbatch', 'megatron_bridge', 'megatron_lm', 'nemo'] as const;

function expectPage(text: string): void {
  for (const line of text.split('\n')) expect([...line].length, line).toBeLessThanOrEqual(100);
  expect(text).not.toMatch(/undefined|NaN|\[object|Infinity/);
  expect(text.endsWith('\n')).toBe(true);
}

describe('advice as text', () => {
  it('fits and names every fix, on generated situations', () => {
    for (let seed = 0; seed < 150; seed += 1) {
      const result: AdviseResult = { ...advise(situationOf(generateConfig(seed))), symptoms: [] };
      const text = adviseText(result, { paste: FRAMEWORKS });
      // Lines to paste are not wrapped: they could not be pasted.
      const pastes = [result.plan, ...result.fixes].flatMap((one) => (one === null ? [] : Object.values(one.paste)));
      const pasted = new Set(pastes.flat());
      expectPage(
        text
          .split('\n')
          .filter((line) => !pasted.has(line.trim()))
          .join('\n'),
      );
      const words = text.replaceAll(/\s+/g, ' ');
      expect(documentJson(adviseDocument(result, { paste: FRAMEWORKS }))).toMatchObject({ cause: result.cause });
      for (const { id, forbidden_text: why } of result.fixes)
        expect(words).toContain(why === null ? id : `- ${id}: ${why.replaceAll(/\s+/g, ' ')}`);
      for (const { title } of result.non_fixes) expect(words).toContain(`- ${title}: `);
      const [fix] = result.fixes;
      if (fix !== undefined)
        expect(adviseText(result, { paste: FRAMEWORKS, fix: fix.id })).toContain(`Fix ${fix.id}: ${fix.status}`);
    }
  });

  it('shows the first fix, with the lines to paste', () => {
    const situation = published({ config: LLAMA_70B }, { verdict: { cause: 'capacity' }, requestGib: 3, liveGib: 76 });
    const result: AdviseResult = { ...advise(situation), symptoms: [] };
    const text = adviseText(result, { paste: ['sbatch', 'megatron_bridge'] });
    expect(text).toMatch(/^Advice: capacity/);
    expect(text).toContain('short by  1.00 GiB');
    const first = result.plan!.paste.megatron_bridge[0]!;
    expect(text.indexOf(first)).toBeLessThan(text.indexOf('in the order to try them'));
    expect(text).not.toContain('Megatron-LM\n');
  });

  it('prints no secret of a terminal: names are shown, not obeyed', () => {
    const situation = { ...published({ config: LLAMA_70B }), run: 'evil\u001b[2Jrun' };
    expect(adviseText({ ...advise(situation), symptoms: [] }, { paste: [] })).not.toContain('\u001b');
  });
});
