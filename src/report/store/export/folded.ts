/** Folded stacks: one line a stack, root first, its bytes last; what flamegraph.pl, inferno and speedscope read. */
import { visibleText } from '../../../model/escape-controls.js';
import type { LiveDevice, LiveSample, LiveStacks } from '../../../model/results/export.js';

export interface FoldedOptions {
  /**
   * Puts `stream_<s>;<state>` in front, as torch's `_memory_viz.py memory` does, and `;seg_<address>` between where
   * samples have it.
   */
  readonly states: boolean;
}

export interface Folded {
  /** Each with its line end. */
  readonly lines: readonly string[];
  /** Sum of all lines. Without states it is what is active, with them what is reserved. */
  readonly sumBytes: number;
}

/**
 * Lines in descending order of bytes. Stacks with the same text are one line. Where more than one device has live
 * memory, the device is the root frame. The format lacks escapes: a `;` inside a frame is written `\x3b`, an
 * invisible character `\u{1b}`, and a blank before a number at a frame's end becomes `_`, because
 * flamegraph.pl takes `frame 12 34` for a line with two weights.
 */
export function foldedStacks(live: LiveStacks, options: FoldedOptions): Folded {
  const texts = live.frames.map((frame) => foldedFrame(frame.text));
  const stacks = live.stacks.map((stack) => stack.map((frame) => texts[frame]!).join(';'));
  const devices = live.devices.filter((device) => device.samples.length > 0);
  const lines = new Map<string, number>();
  for (const device of devices) {
    for (const sample of device.samples) {
      if (sample.bytes === 0) continue;
      const line = [...prefixes(device, devices.length > 1, sample, options), stacks[sample.stack]!].join(';');
      lines.set(line, (lines.get(line) ?? 0) + sample.bytes);
    }
  }
  const sorted = [...lines].sort(([a, bytes], [b, other]) => other - bytes || (a < b ? -1 : 1));
  return {
    lines: sorted.map(([line, bytes]) => `${line} ${bytes}\n`),
    sumBytes: sorted.reduce((sum, [, bytes]) => sum + bytes, 0),
  };
}

function prefixes(device: LiveDevice, several: boolean, sample: LiveSample, options: FoldedOptions): string[] {
  const parts = several ? [`device_${device.device}`] : [];
  if (!options.states) return parts;
  parts.push(`stream_${sample.stream ?? 'unknown'}`);
  if (sample.segment !== null) parts.push(`seg_${sample.segment}`);
  parts.push(sample.state);
  return parts;
}

/** One frame as folded stacks can hold it. */
export function foldedFrame(text: string): string {
  return visibleText(text.replaceAll(';', '\\x3b')).replace(/\s(\d+(?:\.\d*)?)$/, '_$1');
}
