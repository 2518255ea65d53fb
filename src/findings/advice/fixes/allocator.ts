/** Settings of the process's environment: no model, no layout, no step time changes. */

import { readAllocConf } from '../../../allocator/settings.js';
import type { Looked } from '../../../derive/settings/facts.js';
import { ALLOCATOR_VARIABLES } from '../../../knowledge/env-keys.js';
import { maxOf, minOf } from '../../../model/lists.js';
import { sentencesOf, type Text } from '../../../model/statement.js';
import type { WholeStepOutcome } from '../../../model/vocabulary.js';
import {
  type FixCode,
  type FixContext,
  isOlder,
  isSet,
  type Saving,
  unknownSaving,
  variables,
  wordOf,
} from '../fix.js';
import {
  deviceFreeBytes,
  figure,
  idleBytes,
  neededBytes,
  type Situation,
  shortfallOf,
  wholeStepOf,
} from '../situation.js';
import { fitsWithin } from '../sufficiency.js';

const fixText = sentencesOf('fixes');

/** Whether CUDA graphs are captured in any way. */
export function hasGraphs({ view }: Pick<FixContext, 'view'>): boolean {
  return isSet(view, 'cuda_graph_impl');
}

/** The strongest variable with the allocator's settings. */
export function allocatorSetting({ view }: Pick<FixContext, 'view'>): Looked | undefined {
  return ALLOCATOR_VARIABLES.map((name) => view.env(name)).find(({ by, value }) => by === 'told' && value !== null);
}

/** What it sets; null where unknown. */
export function allocatorText(context: Pick<FixContext, 'view'>): string | null {
  return allocatorSetting(context)?.value ?? null;
}

/** torch 2.10 has a new name for it. Megatron's guards read the old one only, and torch takes the old one first. */
export function allocatorVariable({ view, situation }: Pick<FixContext, 'view' | 'situation'>): string {
  const old = 'PYTORCH_CUDA_ALLOC_CONF';
  const { value } = view.version('torch');
  const isNew = value !== null && !isOlder(view, 'torch', '2.10');
  return !isNew || situation.isMegatron || view.env(old).value !== null ? old : 'PYTORCH_ALLOC_CONF';
}

export function hasExpandable(context: Pick<FixContext, 'view'>): boolean {
  const text = allocatorText(context);
  return text !== null && readAllocConf(text).settings.expandableSegments;
}

/** Other options stay as they are; those that only reduce fragmentation by hand are useless together with it. */
function withExpandable(text: string | null): string {
  const kept = (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '' && !/^(?:expandable_segments|max_split_size_mb)\s*:/i.test(part));
  return ['expandable_segments:True', ...kept].join(',');
}

/** A replay ends at the OOM, a step does not. */
const STEP_AHEAD: Readonly<Record<WholeStepOutcome, { text: Text; closes: false | null } | null>> = {
  fits: null,
  close: { text: fixText('close'), closes: null },
  unlike: { text: fixText('unlike'), closes: null },
  beyond: { text: fixText('beyond'), closes: false },
};

/** Without a whole step before the OOM, only the estimate shows what the rest of the step needs. */
function stepAhead({ situation, step }: FixContext) {
  const outcome = wholeStepOf(situation);
  if (outcome !== null) return STEP_AHEAD[outcome];
  if (step.limitBytes !== null && fitsWithin(step, step.limitBytes) === true) return null;
  return { text: fixText('no_whole_step'), closes: null };
}

function replayed(context: FixContext): Saving | null {
  const { situation } = context;
  const rows = situation.verdict.what_if.filter(({ setting }) => setting.startsWith('expandable_segments:True'));
  if (rows.length === 0) return null;
  const short = shortfallOf(situation).bytes ?? 0;
  const fits = rows.every(({ outcome }) => outcome === 'fits');
  const never = rows.every(({ outcome }) => outcome !== 'fits');
  const headroom = minOf(rows.map(({ headroom_bytes: bytes }) => bytes ?? 0));
  const peak = rows.map(({ peak_reserved_bytes: bytes }) => bytes);
  const ahead = stepAhead(context);
  if (fits)
    return ahead === null
      ? {
          bytes: short + headroom,
          by: 'what_if',
          text: fixText('served', {
            least_peak_bytes: minOf(peak),
            most_peak_bytes: maxOf(peak),
            headroom_bytes: headroom,
          }),
          closes: true,
        }
      : { bytes: null, by: 'what_if', text: fixText('no_oom', { ahead: ahead.text }), closes: ahead.closes };
  return {
    bytes: never ? 0 : null,
    by: 'what_if',
    text: never ? fixText('still_fails') : fixText('depends'),
    closes: never ? false : null,
  };
}

/** Without a recording: idle memory inside PyTorch serves the request if it is large enough. */
function fromMessage(situation: Situation): Saving {
  const idle = idleBytes(situation);
  if (idle === null) return unknownSaving(fixText('idle_unknown'));
  return {
    bytes: idle,
    by: 'message',
    text: fixText('idle', { idle_bytes: idle }),
    // A message does not show what the rest of the step needs.
    closes: null,
  };
}

const MAX_SPLIT = /max_split_size_mb/i;

/**
 * Where nothing is decided: the verdict asks for them, or the memory that they could make usable is enough. A request
 * that fails though the device has it free is refused by something else.
 */
function hasReason(situation: Situation): boolean {
  const { steps, request } = situation.verdict;
  if (steps.some(({ kind }) => kind.startsWith('expandable_'))) return true;
  const [idle, free] = [idleBytes(situation), deviceFreeBytes(situation)];
  if (idle === null || request === null) return false;
  return (free ?? 0) < request.bytes && idle + (free ?? 0) >= request.bytes;
}

/** Of a full device, live memory and the request exceed what the process can have: no arrangement of it serves them. */
function isBeyondLayout(situation: Situation): boolean {
  const [needed, limit] = [neededBytes(situation), figure(situation, 'limit_bytes')];
  return situation.verdict.cause === 'capacity' && needed !== null && limit !== null && needed > limit;
}

export const ALLOCATOR_FIXES: FixCode = {
  'expandable-segments': (context) => {
    const { situation, view } = context;
    if (hasExpandable(context)) return [];
    // What is outside PyTorch stays there: only a replay shows that the remainder is enough. Another process can grow.
    const whatIf = replayed(context);
    const { cause, detail, steps } = situation.verdict;
    const isServed = whatIf !== null && whatIf.closes !== false;
    if (whatIf?.bytes === 0) return [];
    if (cause === 'undecided' && !hasReason(situation)) return [];
    const isAnswer = steps.some(({ kind }) => kind === 'expandable_segments');
    if (cause === 'external_pressure' && !isAnswer && (!isServed || detail === 'other_process')) return [];
    const text = allocatorText(context);
    // The other allocator knows no segments at all.
    if (text !== null && /backend\s*:\s*cudaMallocAsync/i.test(text)) return [];
    const graphs = hasGraphs(context) && view.env('NCCL_GRAPH_REGISTER').value !== '0';
    const variable = allocatorVariable(context);
    return {
      title: fixText('expandable_title', { variable }),
      change: variables({ [variable]: withExpandable(text), ...(graphs ? { NCCL_GRAPH_REGISTER: '0' } : {}) }),
      requires: [
        fixText('exported'),
        ...(graphs ? [fixText('register')] : []),
        ...(text !== null && MAX_SPLIT.test(text) ? [fixText('split_dropped')] : []),
      ],
      saving: whatIf ?? fromMessage(situation),
    };
  },

  /** A limit for splits makes a large block of expandable segments useless to any other request. */
  'drop-max-split': (context) => {
    const text = allocatorText(context);
    if (!hasExpandable(context) || text === null || !MAX_SPLIT.test(text) || isBeyondLayout(context.situation))
      return [];
    return {
      change: variables({ [allocatorVariable(context)]: withExpandable(text) }),
      saving: unknownSaving(fixText('reused_not', { old_torch: isOlder(context.view, 'torch', '2.10') })),
    };
  },

  'torch-upgrade': ({ view }) => ({
    title: fixText('torch', { version: view.version('torch').value }),
  }),

  /** Another process, or what is outside for another reason, does not get smaller by it. */
  'nvls-off': ({ situation: { verdict } }) => verdict.cause !== 'external_pressure' || verdict.detail === 'nccl',

  'graph-stream-reuse': (context) => {
    const text = allocatorText(context);
    if (text?.includes('graph_capture_record_stream_reuse:True')) return [];
    return {
      change: variables({
        [allocatorVariable(context)]: [text, 'graph_capture_record_stream_reuse:True'].filter(Boolean).join(','),
      }),
    };
  },

  'graphs-off': (context) => {
    const { view, situation } = context;
    const impl = wordOf(view, 'cuda_graph_impl');
    const bytes = situation.components?.get('graph_pool') ?? null;
    return {
      title: fixText('graphs_none', { impl }),
      saving:
        bytes === null
          ? unknownSaving(fixText('static_buffers'))
          : { bytes, by: 'attribution', text: fixText('graph_pools', { live_bytes: bytes }) },
    };
  },

  'memory-fraction': (context) => {
    const { situation, step } = context;
    const free = deviceFreeBytes(situation);
    const text = allocatorText(context);
    const inVariable = text !== null && /per_process_memory_fraction/i.test(text);
    const kept = (text ?? '').split(',').filter((part) => !/^\s*per_process_memory_fraction/i.test(part));
    const { limitBytes, shortBytes } = step;
    const served = free !== null && shortBytes !== null && shortBytes <= free;
    return {
      change: variables(inVariable ? { [allocatorVariable(context)]: kept.length === 0 ? null : kept.join(',') } : {}),
      saving:
        free === null
          ? { bytes: null, by: null, text: fixText('free_unknown'), closes: null }
          : {
              bytes: free,
              by: 'message',
              text: fixText('device_free', { free_bytes: free }),
              closes: served && limitBytes !== null ? fitsWithin(step, limitBytes + free) : served ? null : false,
            },
    };
  },
};
