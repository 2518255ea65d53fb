/** Trainers whose fixes are settings: `trainers.yaml`. */
import { loadData } from './load-data.js';

export interface TrainerData {
  readonly id: string;
  /** Regular expressions. */
  readonly command?: string;
  readonly frames?: string;
  readonly keys: readonly string[];
  readonly form: 'flag' | 'yaml' | 'python';
  readonly checkpoints?: true;
  readonly accumulates?: true;
  readonly attention?: Readonly<Record<string, string>>;
  readonly length?: string;
  readonly pixels?: Readonly<Record<string, number>>;
  /** Fix → settings; null: a flag without a value. */
  readonly fixes: Readonly<Record<string, Readonly<Record<string, string | null>>>>;
  readonly lines?: Readonly<Record<string, readonly string[]>>;
  readonly source: string;
}

interface Data {
  readonly trainers: readonly TrainerData[];
  readonly sharded: {
    readonly frames: string;
    readonly settings: readonly { readonly name: string; readonly value: string }[];
    readonly source: string;
  };
}
const stored = (): Data => loadData('trainers') as Data;

export const trainerData = (): readonly TrainerData[] => stored().trainers;

/** Whether tracebacks, or settings by the last part of their names, show that parameters are split over GPUs. */
export function splitsParameters(frames: string, settings: ReadonlyMap<string, string | null>): boolean {
  const { sharded } = stored();
  const rules = sharded.settings.map(({ name, value }) => [new RegExp(name), new RegExp(value, 'i')] as const);
  return (
    new RegExp(sharded.frames).test(frames) ||
    [...settings].some(([name, text]) => rules.some(([is, has]) => is.test(name) && has.test(text ?? '')))
  );
}

/** The setting that keeps which trainer a command starts. */
export const TRAINER_KEY = 'training_program';

/** By a word of a command: `swift`, `src/train_bash.py`, `axolotl.cli.train`. */
export function trainerOfCommand(word: string): string | null {
  return trainerData().find(({ command }) => command !== undefined && new RegExp(command).test(word))?.id ?? null;
}
