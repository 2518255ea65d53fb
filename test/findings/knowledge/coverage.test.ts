/** Nothing that was read of the guides and of upstream is forgotten, and nothing is cited that does not exist. */
import { describe, expect, it } from 'vitest';
import { FIX_ROWS, SYMPTOM_ROWS } from '../../../src/findings/explain/carriers.js';
import { CONSTRAINTS } from '../../../src/findings/explain/constraints.js';
import { coverage } from '../../../src/findings/explain/coverage.js';
import { REASONS } from '../../../src/findings/explain/reasons.js';
import { STATEMENTS } from '../../../src/findings/explain/statements/index.js';
import { RULES } from '../../../src/findings/lint/rules/index.js';
import { DISAGREEMENTS } from '../../../src/knowledge/disagreements.js';
import { KNOBS } from '../../../src/knowledge/knobs/index.js';
import { EXPERIMENTS, WORKLOADS } from '../../../src/knowledge/measured.js';

/** By hand, from the catalogue of what Megatron and Megatron Bridge assert. */
const CATALOGUE = [
  'offload-pp',
  'offload-layers',
  'offload-recompute',
  'offload-graphs',
  'offload-fine',
  'fine-te',
  'fine-te-env',
  'fine-modules',
  'fine-attnproj',
  'fine-moe-recompute',
  'fine-mhc',
  'fine-fused',
  'fine-graphs',
  'fine-numbers',
  'stash',
  'rc-gran',
  'rc-method',
  'rc-layers',
  'rc-sel-method',
  'rc-modules',
  'rc-moeact',
  'rc-mla',
  'rc-shared',
  'rc-fp8',
  'rc-dist-sp',
  'rc-moe-layer',
  'rc-ep-overlap',
  'ep-overlap-misc',
  'graph-full-rc',
  'graph-moe-rc',
  'graph-dropout-rc',
  'graph-moe',
  'graph-nan',
  'graph-rng',
  'graph-nccl-te',
  'graph-nccl-local',
  'graph-expand-old',
  'graph-wgrad',
  'graph-packing',
  'ub-expand',
  'uvm-expand',
  'ub-manual',
  'fsdp-conn',
  'tp-conn',
  'fsdp-ckpt',
  'fsdp2',
  'fsdp-both',
  'fsdp-v2',
  'fsdp-auto',
  'do-pao',
  'do-dtypes',
  'oo-pao',
  'oo-fp8',
  'oo-wd',
  'oo-wrap',
  'apg',
  'fp8pg',
  'mx-reuse',
  'sp-tp',
  'pp-dtype',
  'pp-div',
  'vpp-div',
  'vpp-pp',
  'vpp-two',
  'embed-split',
  'heads-tp',
  'cp-seq',
  'cp-sft',
  'hcp',
  'pack-mbs',
  'moe-cap',
  'prof',
  'memint',
  'pa-bf16',
  'regather',
  'dsv4-pp',
];

const covered = coverage();
const statements = new Set(STATEMENTS.map(({ id }) => id));
const rules = new Set(RULES.map(({ id }) => id));
const disagreements = new Set(DISAGREEMENTS.map(({ id }) => id));

describe('coverage', () => {
  it('has the whole catalogue of constraints', () => {
    expect([...CONSTRAINTS].sort()).toEqual([...CATALOGUE].sort());
  });

  it('leaves no statement without a rule, a knob, a symptom, a fix or a reason', () => {
    const open = covered.statements.filter(({ isCarried, reason }) => !isCarried && reason === null);
    expect(open.map(({ id }) => id)).toEqual([]);
  });

  it('leaves no constraint without a rule that is tried both ways', () => {
    const without = covered.constraints.filter(
      ({ rules }) => !rules.some(({ fails, passes }) => fails > 0 && passes > 0),
    );
    expect(without.map(({ id }) => id)).toEqual([]);
  });

  it('gives reasons for statements that exist', () => {
    expect(Object.keys(REASONS).filter((id) => !statements.has(id))).toEqual([]);
  });
});

describe('ids', () => {
  it.each([
    ['statements', STATEMENTS],
    ['knobs', KNOBS],
    ['disagreements', DISAGREEMENTS],
    ['experiments', EXPERIMENTS],
    ['rules', RULES],
    ['symptoms', SYMPTOM_ROWS],
    ['fixes', FIX_ROWS],
  ])('of %s are unique', (_, rows) => {
    const ids = rows.map(({ id }) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  it.each([
    ['rules', RULES],
    ['knobs', KNOBS],
    ['symptoms', SYMPTOM_ROWS],
    ['fixes', FIX_ROWS],
    ['disagreements', DISAGREEMENTS],
    ['experiments', EXPERIMENTS],
  ])('of statements that %s cite exist', (_, rows) => {
    const cited = rows.flatMap((row) => row.statements.map((id) => `${row.id} cites ${id}`));
    expect(cited.filter((text) => !statements.has(text.split(' cites ')[1] ?? ''))).toEqual([]);
  });

  it('of rules and disagreements that knobs cite exist', () => {
    const known = new Set([...rules, ...covered.constraints.filter((one) => one.rules.length > 0).map(({ id }) => id)]);
    expect(KNOBS.flatMap((knob) => knob.rules).filter((id) => !known.has(id))).toEqual([]);
    expect(KNOBS.flatMap((knob) => knob.disputes).filter((id) => !disagreements.has(id))).toEqual([]);
  });

  it('that statements name in their text exist', () => {
    const named = STATEMENTS.flatMap(({ text, today }) => [...`${text} ${today ?? ''}`.matchAll(/\bD\d+\b/g)]);
    expect(named.map(([id]) => id).filter((id) => !disagreements.has(id))).toEqual([]);
  });
});

describe('measurements', () => {
  it('belong to a workload, and are compared with a row that exists', () => {
    const workloads = new Set(WORKLOADS.map(({ id }) => id));
    const ids = new Set(EXPERIMENTS.map(({ id }) => id));
    for (const { id, workload, control } of EXPERIMENTS) {
      expect(workloads, id).toContain(workload);
      if (control !== null && /^(?:llama|qwen|nemotron)-/.test(control)) expect(ids, id).toContain(control);
    }
  });

  it('add up: the change is the difference of the peaks, the percentage that of the throughput', () => {
    for (const one of EXPERIMENTS) {
      const control = EXPERIMENTS.find(({ id }) => id === one.control);
      if (control?.peak_gb != null && one.peak_gb !== null && one.peak_change_gb !== null)
        expect(one.peak_gb - control.peak_gb, one.id).toBeCloseTo(one.peak_change_gb, 1);
      const golden = WORKLOADS.find(({ id }) => id === one.workload)?.golden_tflops;
      // One figure is printed with a rounding of its own.
      if (golden != null && one.tflops !== null && one.vs_golden_percent !== null)
        expect(Math.abs((100 * one.tflops) / golden - 100 - one.vs_golden_percent), one.id).toBeLessThan(0.06);
    }
  });
});

describe('knobs', () => {
  it('have spellings that can be used', () => {
    for (const { id, spellings } of KNOBS) {
      for (const flag of spellings.megatron_lm)
        expect(flag, id).toMatch(/^(?:--[a-z0-9-]+|[A-Z][A-Z0-9_]+|[\w./-]+(?: .*)?)$/);
      for (const text of Object.values(spellings).flat()) expect(text, id).not.toMatch(/granuality|\(arg |–/);
    }
  });

  it('say how well they are known', () => {
    expect(KNOBS.filter(({ evidence }) => evidence.length === 0).map(({ id }) => id)).toEqual([]);
  });

  it('name no file that only we have', () => {
    const texts = JSON.stringify([STATEMENTS, KNOBS, DISAGREEMENTS, EXPERIMENTS]);
    expect(texts).not.toMatch(/guides\.md|megatron\.md|\/work\/|\[(?:mem|off|nemo)\]/);
  });
});
