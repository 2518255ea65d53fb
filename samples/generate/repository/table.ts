/** The table of what the runs of commits do, which a built repository has next to its checkout. */
import type { Gpu } from '../run.js';
import type { CodeLine } from '../simulate/code-line.js';
import type { Effect, Setting, Trouble } from './facts.js';

/** A node whose devices are held back by their temperature. */
export const SLOW_NODE = 'gpu-c113';
export const NODES: readonly string[] = ['gpu-a014', 'gpu-a022', 'gpu-b031', 'gpu-b040'];

/** Where a line is in a commit. */
export interface Place {
  readonly path: string;
  readonly line: number;
  readonly name: string;
  readonly text: string;
}

export interface Behaviours {
  readonly settings: Readonly<Record<string, Setting>>;
  /** `line`: the identity of the line that came in with it. */
  readonly effects: readonly (Effect & { readonly line?: string })[];
  readonly trouble: Trouble | null;
  readonly node: string;
  /** Where the lines of the stacks are. */
  readonly places: Readonly<Record<string, Place>>;
}

/** What all launches of a repository have in common. */
export interface Launch {
  readonly seed: number;
  readonly torch: '2.6' | '2.8' | '2.12';
  readonly gpu: Gpu;
  readonly dataParallel: number;
  /** Where the repository is inside the container, with a slash at the end. */
  readonly mount: string;
  /** How stragglers are looked for: Megatron Core's detector, or NVIDIA's resiliency extension. */
  readonly stragglers: 'megatron' | 'nvrx';
}

export interface Table {
  readonly launch: Launch;
  readonly commits: Readonly<Record<string, Behaviours>>;
}

/** Names a code line of the simulation for as long as it exists, wherever it moves. */
export const idOf = ({ filename, line, source }: CodeLine): string => `${filename}:${line} ${source}`;
