/**
 * The output projection of a model whose code is not of a known framework: a linear layer that the outermost module
 * calls after all its blocks.
 */

import type { LabelledBlocks } from '../blocks/attribution.js';
import { labelAt, relabelling } from '../blocks/labels.js';
import { isModuleFile, moduleCalls } from '../blocks/layer-name.js';
import { type Frame, isPython } from '../frames/call-site.js';

export const OUTPUT_HEAD = 'inference.output-head';

/** Module calls on the stack of a layer that the model itself calls: the model's and the layer's. */
const HEAD_DEPTH = 2;
const PRODUCTS = new Set(['einsum', 'tensordot', 'linear', 'matmul', 'addmm']);
const PRODUCT_FILES = /(?:^|\/)torch\/(?:nn\/)?functional\.py$/;

interface StackPlace {
  /** Module calls. */
  readonly depth: number;
  /** File and function of the outermost module's forward. */
  readonly model: string;
  /** Of the outermost module's forward. */
  readonly line: number;
  /** The model's forward calls the innermost module itself, not through a function in between. */
  readonly isDirect: boolean;
  /** Its innermost line is a matrix product of torch's. */
  readonly isProduct: boolean;
}

/**
 * In a forward window, what a linear layer allocates two module calls deep, with nothing further down at a later line
 * of the model behind it. An earlier line is the next pass. Names cannot tell it: frames carry no names of module
 * instances. Windows without anything deeper are left alone: there every layer is called by the model itself.
 */
export function inferOutputHead(of: LabelledBlocks): void {
  const { lives, phases } = of;
  const placeOf = placesOf(of);
  const isHead = relabelling(of, OUTPUT_HEAD, ['logits_loss', 'output_projection', 'medium']);
  let candidates: number[] = [];
  let line = 0;
  let isDeep = false;
  let end = -1;
  let isForward = false;
  const settle = (): void => {
    if (isDeep) for (const row of candidates) isHead(row);
    if (candidates.length > 0) candidates = [];
    isDeep = false;
  };
  for (let row = lives.starts; row < lives.count; row += 1) {
    if (lives.allocSeq[row]! > end) {
      settle();
      end = phases.endOf(row);
      isForward = phases.phaseOf(row) === 'forward';
    }
    if (!isForward) continue;
    const place = placeOf(lives.stackId[row]!);
    if (place.depth > HEAD_DEPTH) {
      if (candidates.length > 0) {
        if (place.line < line) settle();
        candidates = [];
      }
      isDeep = true;
    } else if (place.depth === HEAD_DEPTH && place.isDirect && isLinear(of, row, place)) {
      candidates.push(row);
      line = place.line;
    }
  }
  settle();
  for (const row of olderHeads(of, placeOf)) isHead(row);
}

/** Of older blocks the order is not known: what a later line of the model calls than all that is deeper. */
function olderHeads(of: LabelledBlocks, placeOf: (stackId: number) => StackPlace): number[] {
  const { lives } = of;
  const lastLine = new Map<string, number>();
  const candidates: number[] = [];
  for (let row = 0; row < lives.count; row += 1) {
    const place = placeOf(lives.stackId[row]!);
    if (place.depth < HEAD_DEPTH || lives.stackIsOfFree[row] === 1) continue;
    if (place.depth > HEAD_DEPTH) lastLine.set(place.model, Math.max(place.line, lastLine.get(place.model) ?? 0));
    else if (row < lives.starts && place.isDirect && isLinear(of, row, place)) candidates.push(row);
  }
  return candidates.filter((row) => {
    const { model, line } = placeOf(lives.stackId[row]!);
    return line > (lastLine.get(model) ?? Number.POSITIVE_INFINITY);
  });
}

function placesOf({ classes }: LabelledBlocks): (stackId: number) => StackPlace {
  const none: StackPlace = { depth: 0, model: '', line: 0, isDirect: false, isProduct: false };
  const places: (StackPlace | undefined)[] = [];
  return (stackId) => {
    if (stackId < 0) return none;
    let place = places[stackId];
    if (place === undefined) {
      const { frames } = classes(stackId);
      const calls = moduleCalls(frames);
      const python = frames.filter(isPython);
      const [inner] = python;
      place = {
        depth: calls.length,
        model: `${calls.at(-1)?.filename} ${calls.at(-1)?.name}`,
        line: calls.at(-1)?.line ?? 0,
        isDirect: callerOf(python, calls[0]) === calls[1],
        isProduct:
          inner !== undefined && PRODUCTS.has(inner.name) && PRODUCT_FILES.test(inner.filename.replaceAll('\\', '/')),
      };
      places[stackId] = place;
    }
    return place;
  };
}

/** The first frame outside of a module's call that is not of the call itself. */
function callerOf(python: readonly Frame[], called: Frame | undefined): Frame | undefined {
  if (called === undefined) return undefined;
  return python.slice(python.indexOf(called) + 1).find((frame) => !isModuleFile(frame));
}

/** A rule of a framework that matches the block takes precedence: a weight that autocast copies is not an output. */
function isLinear(of: LabelledBlocks, row: number, { isProduct }: StackPlace): boolean {
  const { component, sub_component, rules } = labelAt(of, row);
  if (component !== 'activation' || !rules.every((rule) => rule.startsWith('generic.'))) return false;
  return isProduct || /(?:^|_)linear(?:_|$)/.test(sub_component);
}
