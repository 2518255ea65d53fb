/**
 * What a memory snapshot's stacks show of recompute, offload and graphs: frames only such code has. The whole trace
 * counts, not only what lives at the peak, since what is recomputed is mostly dead then.
 */

import type { Frame } from '../../attribution/frames/call-site.js';
import { readStacks } from '../../derive/stacks/read-stacks.js';
import { deviceHistory } from '../../derive/trace/device-history.js';
import type { Store } from '../../store/store.js';

export interface Use {
  /** Allocations whose stack goes through it. */
  readonly requests: number;
  /** One of its frames. */
  readonly frame: string;
}

export interface ProgramUse {
  /** Allocations with Python frames of a model's forward pass: without any, missing frames are not evidence. */
  readonly forwardRequests: number;
  readonly hasTrace: boolean;
  /**
   * By module of selective recompute, `full` for whole layers, `other` where the frames do not show what is recomputed.
   */
  readonly recompute: ReadonlyMap<string, Use>;
  /** `fine_grained`, `layers`, `optimizer`. */
  readonly offload: ReadonlyMap<string, Use>;
}

export async function readProgramUse(store: Store, snapshotId: number, device: number): Promise<ProgramUse> {
  const id = { snapshot_id: snapshotId, device };
  const rows = await store.all('attribution.requests', id);
  const requests = new Map(rows.map((row) => [row.stack_id, row.requests]));
  const stacks = await readStacks(store, requests.keys());
  return {
    ...programUse([...stacks].map(([id, frames]) => ({ frames, requests: requests.get(id) ?? 0 }))),
    hasTrace: (await deviceHistory(store, snapshotId, device)).trace.events > 0,
  };
}

export function programUse(
  stacks: readonly { readonly frames: readonly Frame[]; readonly requests: number }[],
): Omit<ProgramUse, 'hasTrace'> {
  const recompute = new Map<string, Use>();
  const offload = new Map<string, Use>();
  let forwardRequests = 0;
  for (const { frames, requests } of stacks) {
    if (frames.some(isForward)) forwardRequests += requests;
    const recomputed = recomputeOf(frames);
    if (recomputed !== undefined) add(recompute, recomputed.what, requests, recomputed.frame);
    const moved = offloadOf(frames);
    if (moved !== undefined) add(offload, moved.what, requests, moved.frame);
  }
  return { forwardRequests, recompute, offload };
}

function add(uses: Map<string, Use>, what: string, requests: number, frame: Frame): void {
  const known = uses.get(what);
  uses.set(what, { requests: (known?.requests ?? 0) + requests, frame: known?.frame ?? frameText(frame) });
}

const frameText = ({ name, filename, line }: Frame): string =>
  `${name} ${filename.replace(/^.*?((?:core|megatron|torch|transformer_engine)\/)/, '$1')}:${line}`;

const isForward = ({ name, filename }: Frame): boolean =>
  /forward/.test(name) && /transformer|torch\/nn\/modules\/module\.py|models?\//.test(filename);

const CHECKPOINT_FILES =
  /(?:tensor_parallel\/random\.py|torch\/utils\/checkpoint\.py|transformer_engine\/pytorch\/distributed\.py)$/;
const CHECKPOINT_NAMES =
  /^(?:_?CheckpointFunction|CheckpointWithoutOutput|_CheckpointFrame|checkpoint$|te_checkpoint$|_recompute$|_unified_recompute_hook$|recompute_fn$|unpack_hook$|use_reentrant_activation_recompute)/;

const isCheckpoint = ({ name, filename }: Frame): boolean =>
  CHECKPOINT_NAMES.test(name) ||
  // Older interpreters name no class: a `forward` of that file is the checkpoint's.
  (/tensor_parallel\/random\.py$/.test(filename) && /^(?:forward|backward|checkpoint|_recompute)$/.test(name));

interface Found {
  readonly what: string;
  readonly frame: Frame;
}

/** Frames are innermost first: those before the checkpoint ran inside it, those after it requested it. */
function recomputeOf(frames: readonly Frame[]): Found | undefined {
  const wholeLayer = frames.find(
    ({ name, filename }) => /^_?checkpointed_forward$/.test(name) && /transformer_block\.py$/.test(filename),
  );
  if (wholeLayer !== undefined) return { what: 'full', frame: wholeLayer };
  const attention = frames.find(({ name }) => name.includes('_checkpointed_attention_forward'));
  if (attention !== undefined) return { what: 'core_attn', frame: attention };
  const at = frames.findIndex(
    (frame) => isCheckpoint(frame) && (CHECKPOINT_FILES.test(frame.filename) || /Checkpoint/.test(frame.name)),
  );
  if (at < 0) return undefined;
  const frame = frames[at]!;
  const inside = frames.slice(0, at).map(({ filename }) => filename);
  const caller = frames.slice(at).find((one) => !CHECKPOINT_FILES.test(one.filename))?.filename ?? '';
  const runs = (file: RegExp): boolean => inside.some((name) => file.test(name));
  if (/multi_latent_attention\.py$/.test(caller)) return { what: 'mla_up_proj', frame };
  if (/moe\/experts\.py$/.test(caller)) return { what: 'moe_act', frame };
  if (runs(/moe\/shared_experts\.py$/) && !runs(/moe\/experts\.py$/)) return { what: 'shared_experts', frame };
  if (/moe\/moe_layer\.py$/.test(caller)) return { what: 'moe', frame };
  if (/transformer_block\.py$/.test(caller)) return { what: 'full', frame };
  if (/attention\.py$/.test(caller)) return { what: 'core_attn', frame };
  if (/transformer_layer\.py$/.test(caller))
    return { what: runs(/transformer\/mlp\.py$/) ? 'mlp' : runs(/norm/i) ? 'layernorm' : 'other', frame };
  return { what: 'other', frame };
}

const OFFLOADS: readonly (readonly [what: string, file: RegExp])[] = [
  ['fine_grained', /fine_grained_activation_offload\.py$/],
  ['optimizer', /optimizer\/cpu_offloading\/\w+\.py$/],
  [
    'layers',
    /(?:transformer_engine\/pytorch\/cpu_offload\w*|core\/transformer\/cpu_offload|pipeline_parallel\/cpu_offload)\.py$/,
  ],
];

function offloadOf(frames: readonly Frame[]): Found | undefined {
  for (const [what, file] of OFFLOADS) {
    const frame = frames.find(({ filename }) => file.test(filename));
    if (frame !== undefined) return { what, frame };
  }
  return undefined;
}
