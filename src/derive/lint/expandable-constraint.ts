/** What in a configuration forbids expandable segments, worded for a verdict. */
import type { LintFact } from '../../model/results/lint.js';
import { formatCount } from '../../model/units.js';
import type { RawFacts } from '../settings/facts.js';
import { isOn } from '../settings/values.js';
import { compareVersions } from '../settings/versions.js';
import { View } from '../settings/view.js';
import { ChangeJudge } from './change.js';

/** What in the configuration forbids expandable segments, and what would allow them. */
export interface ExpandableConstraint {
  readonly text: string;
  readonly source: string;
  /** The rule of `lint` that forbids them; missing where they are allowed together with another change. */
  readonly rule?: string;
  /** The torch of the run does not have the option: it cannot be on. */
  readonly isUnknownOption?: true;
}

/** torch before 2.1. */
export function unknownTo(torch: string): ExpandableConstraint {
  return {
    text: `torch ${torch} does not know the option: use 2.1 or newer`,
    source: torch.includes('older') ? 'the wording of the message' : 'the version of torch',
    isUnknownOption: true,
  };
}

const ON = { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' };

/** By the rules of `lint`. Null: nothing that was read forbids them. */
export function expandableConstraint(facts: RawFacts): ExpandableConstraint | null {
  const judge = new ChangeJudge(facts);
  const { broken, undecided } = judge.judge({ settings: {}, env: { ...ON, NCCL_GRAPH_REGISTER: '0' } });
  const [first] = [...broken, ...undecided];
  if (first?.rule === 'alloc-expand-torch') return unknownTo(facts.versions.torch!);
  if (first !== undefined)
    return {
      text: textOf(first.rule, first.message, first.facts, facts),
      source: sourceOf(first.facts),
      rule: first.rule,
    };
  const view = new View(facts);
  const graphs = view.setting('cuda_graph_impl');
  if (!isOn(graphs.value) || graphs.explicit === null || view.env('NCCL_GRAPH_REGISTER').value === '0') return null;
  const { raw_key: key, file, line } = graphs.explicit;
  return {
    text: `with CUDA graphs (${key}=${graphs.explicit.value}) only together with NCCL_GRAPH_REGISTER=0`,
    source: `${file} line ${formatCount(line)}`,
  };
}

function textOf(rule: string, message: string, looked: readonly LintFact[], { versions }: RawFacts): string {
  const key = (name: string): string => looked.find((one) => one.key === name)?.raw_key ?? name;
  if (rule === 'ub-expand') {
    const isOld = versions.torch == null || compareVersions(versions.torch, '2.11') < 0;
    const torch =
      versions.torch == null
        ? ' before torch 2.11'
        : isOld
          ? ` (torch ${versions.torch}; allowed from 2.11)`
          : ` in Megatron-Core ${versions.megatron_core ?? ''}`.trimEnd();
    return `NCCL user buffers (${key('nccl_ub')}) forbid it${torch}: drop one of the two`;
  }
  if (rule === 'sleep-expand') return 'the engine’s sleep mode, or torch_memory_saver, does not work with them';
  return `${message.replace(/\.$/, '')} (${rule})`;
}

function sourceOf(looked: readonly LintFact[]): string {
  const explicit = looked.find(({ file }) => file !== null && file !== '');
  return explicit === undefined ? 'the configuration' : `${explicit.file} line ${formatCount(explicit.line ?? 0)}`;
}
