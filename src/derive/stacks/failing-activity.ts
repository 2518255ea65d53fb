/** What the stack, or the traceback, of a failure was doing: `src/knowledge/activities.yaml`. */

import { classifyFrames } from '../../attribution/blocks/stack-classes.js';
import { builtInRules } from '../../attribution/built-in-rules.js';
import type { Frame } from '../../attribution/frames/call-site.js';
import { labelOf } from '../../attribution/match/classify-stack.js';
import { compilePatterns, type FrameTest, namedFrame } from '../../attribution/match/frame-pattern.js';
import { type ActivityData, activityData } from '../../knowledge/activities.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { activityOf, type WeightsActivity } from './activity.js';

/** Innermost first; `source`: the line of code, where a traceback prints it. */
export interface CodeFrame extends Frame {
  readonly source?: string;
}

interface CompiledActivity extends ActivityData {
  readonly fits: (frame: CodeFrame) => boolean;
  readonly fitsCode: (frame: CodeFrame) => boolean;
  readonly excluded: FrameTest | null;
}

let compiled: readonly CompiledActivity[] | undefined;

function activities(): readonly CompiledActivity[] {
  compiled ??= activityData().map((data) => {
    const at = data.at === undefined ? null : compilePatterns(data.at);
    const code = data.code === undefined ? null : new RegExp(data.code, 'u');
    const fitsCode = ({ source }: CodeFrame): boolean => source !== undefined && code?.test(source) === true;
    return {
      ...data,
      fits: (frame) => at?.(namedFrame(frame.name, frame.filename)) === true || fitsCode(frame),
      fitsCode,
      excluded: data.without === undefined ? null : compilePatterns(data.without),
    };
  });
  return compiled;
}

/** Where the words of a message name it. */
export function activityOfText(text: string): string | null {
  return activities().find(({ words }) => words !== undefined && text.includes(words))?.id ?? null;
}

/** Null where nothing of it is known; `frames` innermost first. */
export function failingActivity(frames: readonly CodeFrame[]): string | null {
  if (frames.length === 0) return null;
  const stack = classifyFrames(builtInRules(), frames);
  const candidates = activities().filter(
    ({ excluded }) => excluded === null || !frames.some(({ name, filename }) => excluded(namedFrame(name, filename))),
  );
  const outer = candidates.find(
    (one) => one.outer === true && (one.phases?.includes(stack.phase) === true || frames.some(one.fits)),
  );
  if (outer !== undefined) return outer.id;
  const known = activityOf(frames);
  if (known !== null) return known;
  const label = labelOf(stack, {});
  if (label !== undefined) {
    const { component, sub_component: sub } = label;
    const labelled = candidates.find(
      ({ labels }) => labels?.includes(component) === true || labels?.includes(`${component}.${sub}`) === true,
    );
    // `forward` of one file may be any of its modules: a line of code within it shows which.
    const inner = component === 'recompute' ? [] : frames.slice(0, label.candidate.frame + 1);
    for (const frame of inner) {
      const written = candidates.find((one) => one.fitsCode(frame));
      if (written !== undefined) return written.id;
    }
    if (labelled !== undefined) return labelled.id;
  }
  for (const frame of frames) {
    const fitting = candidates.find((one) => one.outer !== true && one.fits(frame));
    if (fitting !== undefined) return fitting.id;
  }
  return null;
}

export const LARGE_SHARE = threshold('failing_site.large_share');

const MAKES_WEIGHTS: ReadonlySet<string> = new Set<WeightsActivity>(['model_construction', 'weight_loading']);

export function isOfWeights(activity: string | null): activity is WeightsActivity {
  return activity !== null && MAKES_WEIGHTS.has(activity);
}

/** Null for all that does not make weights. */
export function weightsActivity(frames: readonly CodeFrame[]): WeightsActivity | null {
  const activity = failingActivity(frames);
  return isOfWeights(activity) ? activity : null;
}
