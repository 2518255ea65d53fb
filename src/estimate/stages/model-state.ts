/** What a rank holds between steps: weights, gradients, optimizer state, and copies of weights in 8 bits. */
import { maxOf } from '../../model/lists.js';
import type { EstimateInputs } from '../inputs.js';
import { type Amount, between, exactly, type Part, part, sum, times } from './amount.js';
import type { ParameterCounts } from './parameters.js';
import type { Settings } from './settings.js';

/**
 * Buckets are padded to multiples of the data-parallel size and 128 elements, tensors to 512 bytes, and now and then a
 * gradient outlives its step: on three golden runs of Megatron-LM what stays allocated is 0.2 %, 4.7 % and 5.3 % above
 * the count. Below the count it cannot be.
 */
const PADDING = 0.06;

function padded(bytes: number): Amount {
  return between(bytes, bytes, bytes * (1 + PADDING));
}

/** The counts of a stage by what becomes of them: who trains, over how many replicas a shard is cut. */
interface Shares {
  readonly weights: number;
  readonly eightBit: number;
  /** Trained parameters of each kind with the number of replicas that share their state. */
  readonly trained: readonly { readonly count: number; readonly shards: number }[];
}

function sharesOf(counts: ParameterCounts, settings: Settings): Shares {
  const frozen = settings.loraRank !== null;
  const weights = counts.linear + counts.other + counts.expert + counts.adapter;
  return {
    weights,
    eightBit: settings.fp8 === null ? 0 : counts.linear + counts.expert,
    trained: frozen
      ? [{ count: counts.adapter, shards: settings.denseShards }]
      : [
          { count: counts.linear + counts.other, shards: settings.denseShards },
          { count: counts.expert, shards: settings.expertShards },
        ],
  };
}

const trainedBytes = ({ trained }: Shares, each: number, isCut: boolean): number =>
  trained.reduce((bytes, { count, shards }) => bytes + (count * each) / (isCut ? shards : 1), 0);

/** Bytes of one scale for 32 elements, relative to elements of one byte: the MXFP8 format. */
const MX_SCALE = 1 / 32;

export function modelStateParts(inputs: EstimateInputs, settings: Settings, counts: ParameterCounts): Part[] {
  const shares = sharesOf(counts, settings);
  const cuts = (level: Settings['sharding'][]): boolean => level.includes(settings.sharding);
  const parts = [
    ...weightParts(settings, shares, counts),
    part(
      'gradient',
      'main gradients',
      padded(trainedBytes(shares, settings.gradBytes, cuts(['optim_grads', 'optim_grads_params']))),
      `${settings.gradBytes} bytes a trained parameter${cuts(['optim_grads', 'optim_grads_params']) ? ', sharded' : ''}`,
    ),
    ...optimizerParts(settings, shares, cuts(['optim', 'optim_grads', 'optim_grads_params'])),
    ...unshardedParts(inputs, settings, counts),
  ];
  return parts.filter(({ high }) => high > 0);
}

function weightParts(settings: Settings, shares: Shares, counts: ParameterCounts): Part[] {
  const { elementBytes, fp8, fp8Weights, sharding, denseShards, expertShards } = settings;
  const scale = fp8 === 'mxfp8' ? 1 + MX_SCALE : 1;
  const each = fp8Weights ? scale : elementBytes;
  const isCut = sharding === 'optim_grads_params';
  const rest = counts.other + counts.adapter;
  const linear = settings.fp8 === null ? elementBytes : each;
  const bytes = isCut
    ? (rest * elementBytes + counts.linear * linear) / denseShards + (counts.expert * linear) / expertShards
    : rest * elementBytes + (counts.linear + counts.expert) * linear;
  const parts = [
    part(
      'parameter',
      settings.loraRank === null ? 'weights' : 'frozen weights and adapters',
      padded(bytes),
      `${elementBytes} bytes a parameter${fp8Weights ? `, ${linear} of linear layers` : ''}${isCut ? ', sharded' : ''}`,
    ),
  ];
  if (fp8 === null) return parts;
  // Held in 8 bits, weights still want their transpose for the backward pass on Hopper; cast from bf16, both copies
  // live over a step's micro-batches.
  const copies = fp8Weights
    ? between(0, shares.eightBit, shares.eightBit)
    : between(shares.eightBit, 2 * shares.eightBit, 2 * shares.eightBit);
  const shard = isCut ? between(0, 0, 2 * shares.eightBit) : times(copies, scale);
  return [
    ...parts,
    part(
      'fp8_buffer',
      fp8Weights ? 'transposes of 8-bit weights' : '8-bit copies of weights',
      shard,
      isCut
        ? 'sharded weights are cast unit by unit'
        : fp8Weights
          ? '1 byte a weight of linear layers; none where the GPU multiplies untransposed (Blackwell)'
          : '2 bytes a weight of linear layers: cast once a step, row-wise and transposed',
    ),
  ];
}

/**
 * Offloading moves the moments: measured on Qwen3-30B-A3B, 0.25, 0.5, 0.75 and all of the optimizer on the host freed
 * 3.8, 7.6, 11.6 and 15.3 GB, and its moments are 15.28 GB. The fp32 master weights stay, as the distributed optimizer
 * made them.
 */
function optimizerParts(settings: Settings, shares: Shares, isCut: boolean): Part[] {
  const onHost = settings.optimizerOnHost;
  const where = isCut ? 'sharded' : 'whole on every rank';
  const bytes = (each: number): number => trainedBytes(shares, each, isCut);
  const moment = (name: string, each: number): Part =>
    part(
      'optimizer_state',
      name,
      padded(bytes(each) * (1 - onHost)),
      `${each} bytes a trained parameter, ${where}${onHost > 0 ? `, ${onHost} of them in host memory` : ''}`,
    );
  const master = padded(bytes(settings.masterBytes));
  return [
    part(
      'optimizer_state',
      'master weights',
      { ...master, low: master.low * (1 - onHost) },
      `${settings.masterBytes} bytes a trained parameter, ${where}${onHost > 0 ? '; offloading the optimizer leaves them' : ''}`,
    ),
    moment('exp_avg', settings.expAvgBytes),
    moment('exp_avg_sq', settings.expAvgSqBytes),
  ];
}

/** FSDP gathers a unit (a layer) while the one before is in use: two of them whole at once. */
function unshardedParts(inputs: EstimateInputs, settings: Settings, counts: ParameterCounts): Part[] {
  const { sharding, elementBytes, gradBytes } = settings;
  if (sharding !== 'optim_grads' && sharding !== 'optim_grads_params') return [];
  const layers = Math.max(1, Math.ceil(inputs.layers / inputs.pp));
  const unit = (counts.linear + counts.expert + counts.adapter) / layers;
  const trained = settings.loraRank === null ? unit : counts.adapter / layers;
  const two = (bytes: number): Amount => between(bytes, 2 * bytes, 3 * bytes);
  return [
    ...(sharding === 'optim_grads_params'
      ? [part('parameter', 'gathered units', two(unit * elementBytes), 'two layers whole at once (one to three)')]
      : []),
    part('gradient', 'unreduced units', two(trained * gradBytes), 'gradients of two layers before they are reduced'),
  ];
}

/**
 * What the optimizer's step needs in addition to the state: gradients of 2 bytes become fp32 shards; torch's AdamW
 * takes the square root of all second moments of an optimizer at once, and experts have a separate optimizer.
 */
export function stepParts(settings: Settings, counts: ParameterCounts): Part[] {
  const isCut = settings.sharding !== 'none';
  const shares = sharesOf(counts, settings);
  const onDevice = 1 - settings.optimizerOnHost;
  const roots = maxOf(shares.trained.map((one) => trainedBytes({ ...shares, trained: [one] }, 4, isCut))) * onDevice;
  const parts = settings.torchOptimizer
    ? [part('temporary', 'square roots of the step', exactly(roots), '4 bytes a parameter that torch’s AdamW updates')]
    : [];
  if (!settings.convertsGradients) return parts;
  const bytes = trainedBytes(shares, 4, isCut) * onDevice;
  return [
    ...parts,
    part(
      'gradient',
      'fp32 gradients of the step',
      exactly(bytes),
      `4 bytes a trained parameter${isCut ? ', sharded' : ''}: gradients are reduced in 2 bytes and the optimizer wants fp32`,
    ),
  ];
}

/**
 * Adam's moments are created by the first step, so the peak that a run's first memory line prints is this much lower.
 */
export function momentBytes(parts: readonly Part[]): number {
  return sum(parts.filter(({ name }) => name === 'exp_avg' || name === 'exp_avg_sq')).bytes;
}
