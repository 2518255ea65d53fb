/** A situation to give advice on, from a configuration and the memory figures of a verdict. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { findInput } from '../../src/estimate/input-keys.js';
import { missingInputs } from '../../src/estimate/inputs.js';
import { readInputs } from '../../src/estimate/read-inputs.js';
import type { Situation } from '../../src/findings/advice/situation.js';
import { GIB } from '../../src/model/units.js';
import type { Component } from '../../src/model/vocabulary.js';
import { factsOfSample, type Sample } from './lint-sample.js';

export interface SituationOptions {
  readonly verdict?: Partial<Situation['verdict']>;
  readonly components?: Readonly<Partial<Record<Component, number>>>;
  readonly completedSteps?: number | null;
  readonly isMegatron?: boolean;
  readonly frames?: string;
  /** Live bytes, request and what the process could have: the figures of the cause tests. */
  readonly liveGib?: number;
  readonly requestGib?: number;
  readonly limitGib?: number;
}

const FILE = readFileSync(new URL('advice-models.yaml', import.meta.url), 'utf8');
export const {
  llama: LLAMA_70B,
  qwen: QWEN_30B,
  qwen_printed: QWEN_PRINTED,
} = parse(FILE) as Readonly<Record<'llama' | 'qwen', Sample['config']>> & {
  readonly qwen_printed: Readonly<Record<string, string | number>>;
};

export function situationOf(sample: Sample, options: SituationOptions = {}): Situation {
  const facts = factsOfSample({ framework: 'megatron-bridge', gpu: 'h100-80gb', ...sample });
  const pairs = [...facts.settings].flatMap(([key, { value }]) =>
    findInput(key) === undefined ? [] : [[key, value] as const],
  );
  const { given } = readInputs(pairs);
  const missing = missingInputs(given);
  const { liveGib = 76, requestGib = 4, limitGib = 78 } = options;
  const [live, request, limit] = [liveGib * GIB, requestGib * GIB, limitGib * GIB];
  return {
    run: 'run',
    facts,
    isMegatron: options.isMegatron ?? true,
    frames: options.frames ?? '',
    ranOut: true,
    verdict: {
      rank: 0,
      cause: 'capacity',
      detail: null,
      confidence: 'high',
      evidence: [],
      tests: [
        {
          cause: 'capacity',
          outcome: 'holds',
          reason: 'full',
          details: { numbers: {}, names: {} },
          doubts: [],
          numbers: {
            live_bytes: live,
            request_bytes: request,
            limit_bytes: limit,
            short_bytes: live + request - limit,
          },
          capture: null,
        },
      ],
      request: { bytes: request, site: null },
      what_if: [],
      replay: null,
      accounting: [],
      steps: [],
      ...options.verdict,
    },
    components:
      options.components === undefined ? null : new Map(Object.entries(options.components) as [Component, number][]),
    given: missing.length === 0 ? given : null,
    noEstimate: missing.length === 0 ? null : `the configuration does not tell ${missing.join(', ')}.`,
    stage: 0,
    deviceBytes: 80 * GIB,
    completedSteps: options.completedSteps === undefined ? 5 : options.completedSteps,
  };
}
