/**
 * The labels of the blocks of a trace, made where its file is decoded, so that rows of blocks are written with them.
 * They depend on figures that the logs and the configuration of the run have: these are read before its snapshots.
 * If these change later, the labels are made again (`src/derive/attribution/label-run.ts`).
 */
import { attributeLives } from '../../attribution/attribute-lives.js';
import type { RunFigures } from '../../attribution/blocks/attribution.js';
import type { BlockLabel } from '../../attribution/blocks/labels.js';
import { lastStepStart, lifeClasses, stepEnds } from '../../attribution/blocks/life-classes.js';
import type { Lives } from '../../attribution/blocks/lives.js';
import { phaseWindows } from '../../attribution/blocks/phase-windows.js';
import { type ClassifiedStack, type StackClasses, StackClassifier } from '../../attribution/blocks/stack-classes.js';
import { builtInRules } from '../../attribution/built-in-rules.js';
import type { Frame } from '../../attribution/frames/call-site.js';
import { getOrAdd } from '../../model/group-by.js';
import type { Dictionary } from '../../model/parser.js';
import { frameKey, type StackKeys } from '../read/content-keys.js';
import type { TraceSteps } from './steps.js';

export interface TraceLabels {
  /** By life: number of its label. */
  readonly label: Int32Array;
  readonly labels: readonly BlockLabel[];
}

/** Classes of stacks by content: the ranks of a run have nearly all of theirs in common. */
const classifier = new StackClassifier(builtInRules());
const classes = new Map<string, ClassifiedStack>();
const frames = new Map<string, Frame>();
const NO_STACK = classifier.classes(-1);

/** Undefined where a block from before the trace lacks a stack: the store may know that of its segment. */
export function labelTrace(
  lives: Lives,
  { dictionary, keys }: { readonly dictionary: Dictionary; readonly keys: StackKeys },
  steps: TraceSteps | null,
  ooms: readonly number[],
  run: RunFigures,
): TraceLabels | undefined {
  if (lives.stackId.subarray(0, lives.starts).includes(-1)) return undefined;
  const ofStack = classesOf(dictionary, keys);
  const phases = phaseWindows(lives, ofStack);
  const ended = (steps?.spans ?? []).flatMap(({ range }) =>
    range !== null && (range.partial === null || range.partial === 'start') ? [range.last_seq] : [],
  );
  const start = ended.length === 0 ? lastStepStart(phases, lives.events - 1) : undefined;
  const isFailed = start !== undefined && ooms.some((seq) => seq >= start);
  const life = lifeClasses(lives, stepEnds(ended, phases, isFailed));
  const { label, table } = attributeLives({ lives, classes: ofStack, phases, life, run });
  return { label, labels: table.labels };
}

function classesOf(dictionary: Dictionary, keys: StackKeys): StackClasses {
  const known: ClassifiedStack[] = [];
  const frameOf: Frame[] = [];
  const named = (id: number): Frame => {
    frameOf[id] ??= sharedFrame(dictionary, id);
    return frameOf[id];
  };
  return (id) => {
    if (id < 0) return NO_STACK;
    known[id] ??= getOrAdd(classes, keys.stackKey(id), () =>
      classifier.classify(Array.from(dictionary.stackFrames(id), named)),
    );
    return known[id];
  };
}

function sharedFrame(dictionary: Dictionary, id: number): Frame {
  const { name, filename, line } = dictionary.frame(id);
  const texts = { name: dictionary.text(name), filename: dictionary.text(filename), line };
  return getOrAdd(frames, frameKey(texts.name, texts.filename, line), () => texts);
}
