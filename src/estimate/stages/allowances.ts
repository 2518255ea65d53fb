/**
 * What no formula gives: workspaces inside the allocator, and what driver, CUDA libraries and NCCL hold outside it.
 * Allowances with wide bounds.
 */
import { MIB } from '../../model/units.js';
import type { EstimateInputs } from '../inputs.js';
import { between, type Part, part, times } from './amount.js';
import type { Settings } from './settings.js';

/**
 * cuBLAS on Hopper and later; Megatron's recipes set the same with `CUBLAS_WORKSPACE_CONFIG=:4096:8`. Transformer
 * Engine has one of its own.
 */
const GEMM_WORKSPACE = 32 * MIB;
/** Grouped GEMMs run on four streams, each with a workspace. Upstream: Transformer Engine `_NUM_MAX_CUBLAS_STREAMS`. */
const GROUPED_STREAMS = 4;

/**
 * The CUDA context with the modules loaded into it. In the OOM messages of our reference collection, whose processes
 * mostly used one GPU, what the process held beyond its allocator was 0.12 to 0.77 GiB, half of them below 0.3.
 */
const CONTEXT = between(128 * MIB, 512 * MIB, 800 * MIB);

/**
 * A communicator's buffers depend on its channels, peers and algorithms: NCCL's default of 4 MiB a channel and peer
 * gives some 100 MiB.
 */
const COMMUNICATOR = between(32 * MIB, 128 * MIB, 512 * MIB);

export function allowanceParts(inputs: EstimateInputs, { isLocal }: Settings): Part[] {
  const grouped = inputs.experts === null || isLocal ? 0 : GROUPED_STREAMS;
  const groups = communicators(inputs);
  const parts = [
    part(
      'workspace',
      'GEMM workspaces',
      between(GEMM_WORKSPACE, (2 + grouped) * GEMM_WORKSPACE, (4 + grouped) * GEMM_WORKSPACE),
      isLocal
        ? '32 MiB each for the threads of the forward and of the backward pass'
        : '32 MiB each for cuBLAS and Transformer Engine, and one a stream of grouped GEMMs',
    ),
    part('workspace', 'CUDA context', CONTEXT, 'context and loaded modules of one process', true),
  ];
  if (groups > 0)
    parts.push(
      part(
        'communication',
        'NCCL communicators',
        times(COMMUNICATOR, groups),
        `${groups} process groups with more than one rank, 128 MiB each (32 to 512)`,
        true,
      ),
    );
  return parts;
}

/** Kinds of process groups in which a rank has company. */
function communicators({ tp, pp, cp, dp, ep, etp, world, experts }: EstimateInputs): number {
  const dense = [tp, pp, cp, dp * cp].filter((size) => size > 1).length;
  const routed = experts === null ? [] : [ep, etp, world / (etp * ep * pp)].filter((size) => size > 1);
  return dense + routed.length;
}
