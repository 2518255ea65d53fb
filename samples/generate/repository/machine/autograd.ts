/** Records what forward passes do and runs it backward. Upstream: torch `torch/csrc/autograd/engine.cpp`. */
import type { Machine } from './machine.js';
import { type DType, type List, retain, Tensor, type Value } from './values.js';

/** One operation of a forward pass. */
export interface Node {
  /** The later an operation ran, the earlier its gradient is wanted. */
  readonly sequence: number;
  /** Where the gradients of its inputs go; null where none is wanted. */
  readonly edges: readonly (Node | Tensor | null)[];
  /** What the inputs are: a gradient has its input's dtype, whatever backward makes. */
  readonly dtypes: readonly DType[];
  /** Given the gradient of the output, those of the inputs, in the order of `edges`. */
  readonly backward: (gradient: Tensor) => readonly (Tensor | null)[];
  /** What backward needs; freed once it has run. */
  saved: readonly (Tensor | List)[];
}

export interface Operation {
  readonly inputs: readonly Tensor[];
  readonly saved: readonly (Tensor | List)[];
  readonly backward: Node['backward'];
}

/** Makes `output` a result of `operation` if gradients are wanted. True if so: `saved` is held from then on. */
export function record(machine: Machine, output: Tensor, { inputs, saved, backward }: Operation): boolean {
  if (!machine.isRecordingGradients || !inputs.some((input) => input.requiresGrad)) return false;
  for (const value of saved) retain(value);
  machine.operations += 1;
  output.requiresGrad = true;
  output.node = {
    sequence: machine.operations,
    edges: inputs.map((input) => {
      if (!input.requiresGrad || input.isParameter) return null;
      if (input.node !== null) return input.node;
      retain(input);
      return input;
    }),
    dtypes: inputs.map(({ dtype }) => dtype),
    saved: [...saved],
    backward,
  };
  return true;
}

/** From `root`, whose gradient is `gradient` (null: one), to the leaves. Runs on the engine's thread, which has no Python frames. */
export function runBackward(machine: Machine, root: Tensor, gradient: Tensor | null): void {
  if (root.node === null) throw machine.exception('RuntimeError: element 0 of tensors does not require grad');
  const first = root.node;
  const nodes = reachable(first);
  const wasRecording = machine.isRecordingGradients;
  machine.isRecordingGradients = false;
  machine.stack.onThread(() => {
    const pending = new Map<Node, Tensor>();
    const seed = gradient ?? machine.tensor(root.shape, root.dtype);
    retain(seed);
    pending.set(first, seed);
    for (const node of nodes) {
      const own = pending.get(node);
      pending.delete(node);
      if (own !== undefined) {
        const results = node.backward(own).map((result, i) => converted(machine, result, node.dtypes[i]!));
        node.edges.forEach((edge, i) => {
          deliver(machine, pending, edge, results[i] ?? null);
        });
        for (const result of results) machine.dispose(result);
        machine.release(own);
      }
      for (const value of node.saved) machine.release(value);
      node.saved = [];
      for (const edge of node.edges) if (edge instanceof Tensor) machine.release(edge);
    }
  });
  machine.isRecordingGradients = wasRecording;
}

function deliver(
  machine: Machine,
  pending: Map<Node, Tensor>,
  edge: Node | Tensor | null,
  gradient: Tensor | null,
): void {
  if (edge === null || gradient === null) return;
  if (edge instanceof Tensor) {
    const known = edge.attributes.get('grad');
    const sum = known instanceof Tensor ? accumulate(machine, known, gradient) : gradient;
    if (sum !== known) {
      retain(sum);
      edge.attributes.set('grad', sum);
      if (known instanceof Tensor) machine.release(known);
    }
    return;
  }
  const known = pending.get(edge);
  if (known === undefined) {
    retain(gradient);
    pending.set(edge, gradient);
    return;
  }
  const sum = accumulate(machine, known, gradient);
  if (sum === known) return;
  retain(sum);
  pending.set(edge, sum);
  machine.release(known);
}

/** Upstream: `validate_outputs`. */
function converted(machine: Machine, gradient: Tensor | null, dtype: DType): Tensor | null {
  if (gradient === null || gradient.dtype === dtype) return gradient;
  const result = machine.tensor(gradient.shape, dtype);
  machine.touch(gradient.bytes + result.bytes);
  machine.dispose(gradient);
  return result;
}

/** In place where nobody else has the first of the two. */
function accumulate(machine: Machine, known: Tensor, gradient: Tensor): Tensor {
  machine.touch(3 * known.bytes);
  return known.refs === 1 && known !== gradient ? known : machine.tensor(known.shape, known.dtype);
}

/** Latest first. */
function reachable(first: Node): Node[] {
  const found = new Set<Node>([first]);
  for (const node of found) {
    for (const edge of node.edges) if (edge !== null && !(edge instanceof Tensor)) found.add(edge);
  }
  return [...found].sort((a, b) => b.sequence - a.sequence);
}

/** The tensors among values, those in lists and tuples too. */
export function tensorsIn(values: readonly Value[]): Tensor[] {
  return values.filter((value): value is Tensor => value instanceof Tensor);
}
