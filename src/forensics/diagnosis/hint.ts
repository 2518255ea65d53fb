/**
 * PyTorch ends every OOM message with the same advice, `expandable_segments:True` (before 2.2 `max_split_size_mb`), whatever the figures before it
 * say. Here it is held against them, and against the run's own configuration.
 */
import type { HintResult } from '../../model/results.js';
import { formatBytes, formatCount } from '../../model/units.js';
import type { Cause } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { effectiveConfig, plainValue, readSettings } from '../log/config.js';
import { readEnvironment } from '../log/env.js';
import { active, budget, type OomFacts } from '../verdict/facts.js';

/** What in the configuration forbids expandable segments, and what would allow them. */
export interface ExpandableConstraint {
  readonly text: string;
  readonly source: string;
}

export interface Versions {
  readonly torch: string | null;
  readonly megatronCore: string | null;
}

const GRAPH_KEYS = ['cuda_graph_impl', 'enable_cuda_graph', 'external_cuda_graph'] as const;
const OFF = new Set(['null', 'none', 'false', '0', 'off']);

/**
 * Megatron-Core refuses NCCL user buffers with expandable segments before torch 2.11 (MemPool), and CUDA graphs with them unless NCCL_GRAPH_REGISTER=0
 * (core 0.14 and 0.15: at all). Null: nothing that was read forbids them.
 */
export async function readConstraint(
  store: Store,
  runId: number,
  versions: Versions,
): Promise<ExpandableConstraint | null> {
  const config = effectiveConfig(await readSettings(store, runId));
  const isOn = (key: string) => {
    const entry = config.entry(key);
    return entry !== undefined && !OFF.has(plainValue(entry.value).toLowerCase()) ? entry : undefined;
  };
  const buffers = isOn('nccl_ub');
  if (buffers !== undefined && !isAtLeast(versions.torch, 2, 11)) {
    const torch = versions.torch === null ? ' before torch 2.11' : ` (torch ${versions.torch}; allowed from 2.11)`;
    return {
      text: `NCCL user buffers (${buffers.raw_key}) forbid it${torch}: drop one of the two`,
      source: `${buffers.file} line ${formatCount(buffers.line)}`,
    };
  }
  for (const key of GRAPH_KEYS) {
    const graphs = isOn(key);
    if (graphs === undefined) continue;
    const source = `${graphs.file} line ${formatCount(graphs.line)}`;
    const name = `${graphs.raw_key}=${graphs.value}`;
    if (/^0\.1[45]\b/.test(versions.megatronCore ?? ''))
      return {
        text: `CUDA graphs (${name}) forbid it in Megatron-Core ${versions.megatronCore}: drop one of the two`,
        source,
      };
    const { variables } = await readEnvironment(store, runId);
    const register = variables.find((variable) => variable.key === 'NCCL_GRAPH_REGISTER');
    if (register?.value === '0') return null;
    return { text: `with CUDA graphs (${name}) only together with NCCL_GRAPH_REGISTER=0`, source };
  }
  return null;
}

function isAtLeast(version: string | null, major: number, minor: number): boolean {
  const match = /^(\d+)\.(\d+)/.exec(version ?? '');
  if (match === null) return false;
  return Number(match[1]) > major || (Number(match[1]) === major && Number(match[2]) >= minor);
}

/** Null where no caching allocator ran out, or the evidence is too thin to say anything of its advice. */
export function judgeHint(facts: OomFacts, cause: Cause, constraint: ExpandableConstraint | null): HintResult | null {
  if (cause === 'host_oom' || cause === 'not_oom' || facts.request === null) return null;
  if (facts.allocator?.expandableSegments === true)
    return {
      verdict: 'already_on',
      text: "PyTorch's hint does not apply: expandable segments were on already",
      source: facts.allocator.source,
    };
  const live = active(facts);
  const limit = budget(facts);
  const { reserved } = facts;
  if (cause === 'graph_pools')
    return {
      verdict: 'cannot_explain',
      text: "PyTorch's hint does not help: what is free lies in private pools, which the setting leaves as they are",
      source: facts.privatePoolFree?.source ?? facts.request.source,
    };
  if (reserved !== null && live !== null && limit !== null && cause !== 'fragmentation') {
    const idle = Math.max(0, reserved.bytes - live.bytes);
    const need = facts.requestAtLeastBytes;
    if (live.bytes + need <= limit.bytes) return null;
    const share = reserved.bytes === 0 ? 0 : (100 * idle) / reserved.bytes;
    return {
      verdict: 'cannot_explain',
      text: `PyTorch's hint does not help: ${formatBytes(idle)} reserved but unallocated (${share.toFixed(share < 10 ? 1 : 0)} %) cannot serve the request`,
      source: reserved.source,
    };
  }
  if (cause !== 'fragmentation') return null;
  if (constraint !== null)
    return {
      verdict: 'forbidden',
      text: `PyTorch's hint (expandable_segments:True) is right, but not with this configuration: ${constraint.text}`,
      source: constraint.source,
    };
  if (facts.allocator === null)
    return {
      verdict: 'unknown',
      text: "PyTorch's hint (expandable_segments:True) applies if they are off; nothing that was read says whether",
      source: reserved?.source ?? facts.request.source,
    };
  return {
    verdict: 'applies',
    text: "PyTorch's hint (expandable_segments:True) is right here",
    source: facts.allocator.source,
  };
}

/** The advice with what the configuration forbids taken out of it, whichever verdict gave it. */
export function allowedAdvice(next: readonly string[], constraint: ExpandableConstraint | null): string[] {
  if (constraint === null) return [...next];
  return next.map((text) =>
    text.startsWith('PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True')
      ? `expandable_segments:True would help, but ${constraint.text} (${constraint.source})`
      : // What is only mentioned beside other advice goes without a word.
        text.replace(/; expandable_segments:True[^;]*$/, ''),
  );
}
