/** `mbforensics explain stack`: which rule a stack falls to, which others match it, and why they lose. */

import { classifyFrames } from '../../../attribution/blocks/stack-classes.js';
import { type Frame, frameText } from '../../../attribution/frames/call-site.js';
import { type BlockFacts, labelOf, unmetCondition } from '../../../attribution/match/classify-stack.js';
import type { CompiledRules } from '../../../attribution/match/compile-rules.js';
import { sampleFrames } from '../../../attribution/match/sample-frames.js';
import type { ExplainedRule, ExplainedStack } from '../../../model/results/rules.js';
import { sentencesOf, type Text, type Unworded } from '../../../model/statement.js';

const sentence = sentencesOf('rules');

export function explainStack(
  rules: CompiledRules,
  from: string,
  frames: readonly Frame[],
  facts: BlockFacts,
): Unworded<ExplainedStack, 'reason'> {
  const stack = classifyFrames(rules, frames, true);
  const label = labelOf(stack, facts);
  let decided = false;
  const explained = stack.candidates.map((candidate): Unworded<ExplainedRule, 'reason'> => {
    const { rule, tier, frame } = candidate;
    const won = !decided && candidate === label?.candidate;
    const unmet = rule.when === undefined ? undefined : unmetCondition(rule.when, facts);
    let reason: Text | null = null;
    if (!won) {
      if (unmet !== undefined) reason = unmet;
      else if (label === undefined) reason = sentence('nothing');
      else if (tier !== label.candidate.tier) reason = sentence('tier', { winner: label.candidate.tier, tier });
      else if (frame !== label.candidate.frame) reason = sentence('further_in');
      else reason = sentence('before');
    }
    decided ||= won;
    const { id, component, sub_component, source } = rule;
    return { id, tier, component, sub_component, frame, won, reason, source };
  });
  return {
    from,
    frames: frames.map(frameText),
    component: label?.component ?? null,
    sub_component: label?.sub_component ?? null,
    phase: label?.phase ?? stack.phase,
    phase_frame: stack.phaseFrame < 0 ? null : stack.phaseFrame,
    recompute_frame: stack.recomputeFrame < 0 ? null : stack.recomputeFrame,
    rules: explained,
  };
}

const TRACEBACK_FRAME = /^\s*File "([^"]+)", line (\d+), in (.+)$/;
/** memory_viz and `torch.cuda._memory_viz`: `file.py:123:function`. */
const VIZ_FRAME = /^\s*(\S+\.\w+):(\d+):(.+)$/;

/** Prose, tables and headings are pasted along. */
const SOURCE_FILE = /\.(?:pyx?|pyw|cpp|cc|cxx|c|h|hpp|cuh?)$|^<.+>$/;
const NATIVE_NAME = /::\w/;

/**
 * Frames as people paste them, innermost first: `function file.py:123` as this tool prints them, `file.py:123:function`
 * as memory_viz does, or a Python traceback, which has the innermost last. Several stacks are apart by empty lines.
 * Lines that are none of these are left out.
 */
export function parseStacks(text: string): Frame[][] {
  return text
    .split(/\r?\n\s*\r?\n/)
    .map(parseStack)
    .filter((frames) => frames.length > 0);
}

function parseStack(text: string): Frame[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const traceback = lines.flatMap((line): Frame[] => {
    const match = TRACEBACK_FRAME.exec(line);
    return match === null ? [] : [{ filename: match[1]!, line: Number(match[2]), name: match[3]!.trim() }];
  });
  if (traceback.length > 0) return traceback.reverse();
  return lines.flatMap((line): Frame[] => {
    const viz = VIZ_FRAME.exec(line);
    if (viz !== null) return [{ filename: viz[1]!, line: Number(viz[2]), name: viz[3]!.trim() }];
    const [frame] = sampleFrames([line.replace(/^\s*#\d+\s+/, '')]);
    if (frame === undefined || !(SOURCE_FILE.test(frame.path) || (frame.path === '' && NATIVE_NAME.test(frame.name))))
      return [];
    return [{ name: frame.name, filename: frame.path, line: frame.line ?? 0 }];
  });
}
