/**
 * Live memory by call stack as rows of cells: the root is everything live, each cell is as wide as its bytes, and
 * children are within their parent. Pure; sizes are bytes.
 */
import type { DeviceColumns } from '../../../model/picture/page-data.js';
import type { Live } from '../live-at.js';

/** `callers`: below a cell is what it called. `sites`: the call site of the allocator first, below it its callers. */
export type FlameDirection = 'callers' | 'sites';

/** Of {@link FlameNode.frame}: everything live; blocks without a stack. */
export const ROOT_FRAME = -1;
export const NO_STACK_FRAME = -2;

export interface FlameNode {
  /** Index into `DeviceColumns.frames`, {@link ROOT_FRAME} or {@link NO_STACK_FRAME}. */
  readonly frame: number;
  /** Index of the node above; −1 of the root. Nodes come after their parents, siblings are in order. */
  readonly parent: number;
  readonly depth: number;
  /** Bytes left of it, of the root's. */
  readonly start: number;
  readonly bytes: number;
  readonly blocks: number;
  /** The only stack of its blocks; null if there are more, or none. */
  readonly stack: number | null;
  /** Indices of its children, from `firstChild` to before `endChild`. */
  readonly firstChild: number;
  readonly endChild: number;
}

interface Growing {
  readonly frame: number;
  bytes: number;
  blocks: number;
  /** −2: none yet, −1: several or without stack. */
  stack: number;
  readonly children: Map<number, Growing>;
}

const NONE_YET = -2;
const SEVERAL = -1;

const growing = (frame: number): Growing => ({ frame, bytes: 0, blocks: 0, stack: NONE_YET, children: new Map() });

/** Node 0 is the root. Siblings are in order of their bytes, of equals by the frame's index. Not recursive. */
export function flameNodes(columns: DeviceColumns, live: Live, direction: FlameDirection): FlameNode[] {
  const root = treeOf(columns, live, direction);
  const nodes: FlameNode[] = [];
  const waiting: { readonly from: Growing; readonly parent: number; readonly depth: number; readonly start: number }[] =
    [{ from: root, parent: -1, depth: 0, start: 0 }];
  // Breadth first: the children of a node are next to each other.
  for (let i = 0; i < waiting.length; i += 1) {
    const { from, parent, depth, start } = waiting[i]!;
    const firstChild = waiting.length;
    let left = start;
    const children = [...from.children.values()].sort((a, b) => b.bytes - a.bytes || a.frame - b.frame);
    for (const child of children) {
      waiting.push({ from: child, parent: i, depth: depth + 1, start: left });
      left += child.bytes;
    }
    const { frame, bytes, blocks, stack } = from;
    nodes.push({
      ...{ frame, parent, depth, start, bytes, blocks, firstChild, endChild: waiting.length },
      stack: stack < 0 ? null : stack,
    });
  }
  return nodes;
}

function treeOf({ blocks, stacks }: DeviceColumns, live: Live, direction: FlameDirection): Growing {
  const bytes = new Map<number, number>();
  const counts = new Map<number, number>();
  for (const block of live.blocks) {
    const stack = blocks.stack[block]!;
    bytes.set(stack, (bytes.get(stack) ?? 0) + blocks.bytes[block]!);
    counts.set(stack, (counts.get(stack) ?? 0) + 1);
  }
  const root = growing(ROOT_FRAME);
  for (const [stack, stackBytes] of bytes) {
    let at = root;
    const add = (to: Growing): void => {
      to.bytes += stackBytes;
      to.blocks += counts.get(stack)!;
      to.stack = to.stack === NONE_YET && stack >= 0 ? stack : SEVERAL;
    };
    add(at);
    const frames = stacks[stack] ?? [];
    const path = frames.length === 0 ? [NO_STACK_FRAME] : direction === 'sites' ? frames : frames.toReversed();
    for (const frame of path) {
      let child = at.children.get(frame);
      if (child === undefined) {
        child = growing(frame);
        at.children.set(frame, child);
      }
      add(child);
      at = child;
    }
  }
  return root;
}

/** Frames from below the root to node `at`: its address in another tree of the same direction. */
export function pathOf(nodes: readonly FlameNode[], at: number): number[] {
  const path: number[] = [];
  for (let i = at; i > 0; i = nodes[i]!.parent) path.unshift(nodes[i]!.frame);
  return path;
}

/** The node at `path`, or the deepest one on the way to it. */
export function nodeAt(nodes: readonly FlameNode[], path: readonly number[]): number {
  let at = 0;
  for (const frame of path) {
    const { firstChild, endChild } = nodes[at]!;
    let next = -1;
    for (let i = firstChild; i < endChild && next < 0; i += 1) if (nodes[i]!.frame === frame) next = i;
    if (next < 0) return at;
    at = next;
  }
  return at;
}

/** A cell in pixels. `folded`: children of `node` that are narrower than a pixel, drawn as one. */
export interface FlameCell {
  readonly node: number;
  readonly row: number;
  readonly x0: number;
  readonly x1: number;
  readonly folded: number;
}

/** Narrower cells are folded into one. */
const LEAST_PIXELS = 1;

/**
 * Cells of `focus`, which is as wide as the picture, of the nodes above it, and of what is below it. Row 0 is the root.
 * `rows`: deeper cells are left out.
 */
export function flameCells(nodes: readonly FlameNode[], focus: number, width: number, rows: number): FlameCell[] {
  const cells: FlameCell[] = [];
  const { start, bytes } = nodes[focus]!;
  if (bytes === 0) return cells;
  const xOf = (at: number): number => ((at - start) / bytes) * width;
  for (let i = nodes[focus]!.parent; i >= 0; i = nodes[i]!.parent)
    cells.push({ node: i, row: nodes[i]!.depth, x0: 0, x1: width, folded: 0 });
  cells.reverse();
  const waiting = [focus];
  for (let at = 0; at < waiting.length; at += 1) {
    const next = waiting[at]!;
    const node = nodes[next]!;
    if (node.depth >= rows) continue;
    cells.push({ node: next, row: node.depth, x0: xOf(node.start), x1: xOf(node.start + node.bytes), folded: 0 });
    if (node.depth + 1 >= rows) continue;
    // Siblings are in order of their bytes: the narrow ones are the last.
    let i = node.firstChild;
    for (; i < node.endChild && (nodes[i]!.bytes / bytes) * width >= LEAST_PIXELS; i += 1) waiting.push(i);
    if (i === node.endChild) continue;
    const x0 = xOf(nodes[i]!.start);
    const x1 = xOf(nodes[node.endChild - 1]!.start + nodes[node.endChild - 1]!.bytes);
    if (x1 - x0 >= LEAST_PIXELS) cells.push({ node: next, row: node.depth + 1, x0, x1, folded: node.endChild - i });
  }
  return cells;
}

/** Where an arrow key leads from node `at`: to its parent, its widest child, or a sibling. Null: nowhere. */
export function neighbourOf(nodes: readonly FlameNode[], at: number, key: string): number | null {
  const { parent, firstChild, endChild } = nodes[at]!;
  if (key === 'ArrowUp') return parent < 0 ? null : parent;
  if (key === 'ArrowDown') return firstChild < endChild ? firstChild : null;
  if (parent < 0) return null;
  const siblings = nodes[parent]!;
  if (key === 'ArrowLeft') return at > siblings.firstChild ? at - 1 : null;
  if (key === 'ArrowRight') return at + 1 < siblings.endChild ? at + 1 : null;
  return null;
}
