import { expect, it } from 'vitest';
import { IncidentJoiner } from '../../parsers/log/join-incidents.js';
import { plainIncident } from '../../src/text/plain-incident.js';

it('the joiner loses and repeats nothing, whatever the order, and holds a bounded number', () => {
  const out: number[] = [];
  let most = 0;
  const joiner = new IncidentJoiner(({ line }) => out.push(line));
  for (let i = 0; i < 120_000; i += 1) {
    // Windows of messages close late: neighbours arrive out of order.
    const line = (i ^ 7) + 1;
    const message = {
      kind: 'cuda_oom',
      grammar: 'torch.cuda_oom',
      text: 'x'.repeat(2000),
      line,
      offset: line * 100,
    } as const;
    joiner.message(plainIncident(message));
    most = Math.max(most, i + 1 - out.length);
  }
  joiner.end();
  expect(most).toBeLessThan(40_000);
  expect(out.length).toBe(120_000);
  expect(new Set(out).size).toBe(120_000);
});
