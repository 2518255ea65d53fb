import { describe, expect, it } from 'vitest';
import {
  flameCells,
  flameNodes,
  NO_STACK_FRAME,
  neighbourOf,
  nodeAt,
  pathOf,
} from '../../../src/report/page/flame/flame-layout.js';
import { liveAt } from '../../../src/report/page/live-at.js';
import { syntheticDevice } from './synthetic-device.js';

const GIB = 1024 ** 3;
const { page, columns } = syntheticDevice({ seed: 7, layers: 8, steps: 12, limitBytes: 5.5 * GIB, expandable: false });
const live = liveAt(columns, Math.floor(page.lastSeq / 2));
const total = live.blocks.reduce((sum, i) => sum + columns.blocks.bytes[i]!, 0);

describe.each(['callers', 'sites'] as const)('live memory by call stack, %s first', (direction) => {
  const nodes = flameNodes(columns, live, direction);

  it('has all live bytes, each once', () => {
    expect(nodes[0]).toMatchObject({ bytes: total, blocks: live.blocks.length, depth: 0, start: 0 });
    nodes.forEach((node, i) => {
      const children = nodes.slice(node.firstChild, node.endChild);
      for (const child of children) expect(child).toMatchObject({ parent: i, depth: node.depth + 1 });
      // No stack of this device is the beginning of another one.
      if (children.length > 0) {
        expect(children.reduce((sum, child) => sum + child.bytes, 0)).toBe(node.bytes);
        expect(children.reduce((sum, child) => sum + child.blocks, 0)).toBe(node.blocks);
      }
      let start = node.start;
      for (const child of children) {
        expect(child.start).toBe(start);
        start += child.bytes;
      }
    });
  });

  it('names the stack of a node that has only one', () => {
    const leaf = nodes.findIndex((node, i) => i > 0 && node.firstChild === node.endChild);
    const { stack } = nodes[leaf]!;
    const frames = direction === 'sites' ? columns.stacks[stack!]! : columns.stacks[stack!]!.toReversed();
    expect(pathOf(nodes, leaf)).toEqual(frames);
    expect(nodes[0]!.stack).toBeNull();
  });

  it('finds a node again by its path', () => {
    for (const at of [0, 3, nodes.length - 1]) expect(nodeAt(nodes, pathOf(nodes, at))).toBe(at);
    expect(nodeAt(nodes, [...pathOf(nodes, 2), 999_999])).toBe(2);
  });

  it('moves to parents, children and siblings', () => {
    const { firstChild, endChild } = nodes[0]!;
    expect(neighbourOf(nodes, 0, 'ArrowDown')).toBe(firstChild);
    expect(neighbourOf(nodes, firstChild, 'ArrowUp')).toBe(0);
    expect(neighbourOf(nodes, 0, 'ArrowUp')).toBeNull();
    expect(neighbourOf(nodes, endChild - 1, 'ArrowRight')).toBeNull();
    if (endChild - firstChild > 1) expect(neighbourOf(nodes, firstChild, 'ArrowRight')).toBe(firstChild + 1);
  });

  it('fills the width with a focused cell, and folds what is narrower than a pixel', () => {
    const width = 60;
    for (const focus of [0, nodes[0]!.firstChild]) {
      const cells = flameCells(nodes, focus, width, 99);
      const rows = new Map<number, number>();
      for (const { row, x0, x1 } of cells.toSorted((a, b) => a.row - b.row || a.x0 - b.x0)) {
        expect(x1 - x0).toBeGreaterThanOrEqual(1);
        // Cells of a row do not overlap.
        expect(x0).toBeGreaterThanOrEqual((rows.get(row) ?? 0) - 1e-6);
        rows.set(row, x1);
      }
      expect(cells.find(({ node, folded }) => node === focus && folded === 0)).toMatchObject({ x0: 0, x1: width });
    }
    const folded = flameCells(nodes, 0, width, 99).filter((cell) => cell.folded > 0);
    const narrow = nodes.filter((node) => (node.bytes / total) * width < 1).length;
    expect(narrow).toBeGreaterThan(0);
    expect(folded.reduce((sum, cell) => sum + cell.folded, 0)).toBeLessThanOrEqual(narrow);
    expect(flameCells(nodes, 0, width, 3).every((cell) => cell.row < 3)).toBe(true);
  });
});

describe('blocks without a stack', () => {
  it('have a cell of their own', () => {
    const blocks = { ...columns.blocks, stack: columns.blocks.stack.map(() => -1) };
    const nodes = flameNodes({ ...columns, blocks }, live, 'callers');
    expect(nodes).toHaveLength(2);
    expect(nodes[1]).toMatchObject({ frame: NO_STACK_FRAME, bytes: total, stack: null });
  });
});
