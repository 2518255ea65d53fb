/** The sample stacks of the built-in rules: `samples/*.yaml`. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { RULE_FAMILIES } from '../../src/attribution/built-in-rules.js';
import type { RuleSample } from '../../src/attribution/match/rule.js';

/** See `samples/stacks.yaml`. */
interface Shared {
  readonly installations: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly folders: Readonly<Record<string, string>>;
  readonly stacks: Readonly<Record<string, readonly string[]>>;
}

type WrittenSample = RuleSample & { readonly in?: string };

export function readSampleFile(name: string): unknown {
  return parse(readFileSync(new URL(`samples/${name}.yaml`, import.meta.url), 'utf8'));
}

/** By rule, in the order of the files, with all frames as an installation would record them. */
export function readSamples(): ReadonlyMap<string, readonly RuleSample[]> {
  const shared = readSampleFile('stacks') as Shared;
  return new Map(
    RULE_FAMILIES.flatMap((family) =>
      Object.entries(readSampleFile(family) as Record<string, readonly WrittenSample[]>).map(
        ([rule, samples]) => [rule, samples.map((sample) => written(shared, sample))] as const,
      ),
    ),
  );
}

function written(shared: Shared, { in: installation, ...sample }: WrittenSample): RuleSample {
  const frames = expand(shared.stacks, sample.frames);
  return { ...sample, frames: installation === undefined ? frames : frames.map(located(shared, installation)) };
}

/** Chains, `call`, `apply`, `$name` and `$name word` replaced by their frames. */
function expand(stacks: Shared['stacks'], frames: readonly string[]): string[] {
  return frames.flatMap(unchained).flatMap((frame) => {
    const [, name, word = ''] = /^(?:\$([\w-]+)(?: (\S+))?|(?:call|apply))$/.exec(frame) ?? [];
    if (name === undefined && frame !== 'call' && frame !== 'apply') return [frame];
    const part = stacks[name ?? frame];
    if (part === undefined) throw new Error(`no stack ${frame}`);
    return expand(
      stacks,
      part.map((inner) => inner.replaceAll('{}', word)),
    );
  });
}

/** `f ← g FILE` is two frames, both of this file. */
function unchained(frame: string): string[] {
  const [, functions, file] = /^(.* ← \S+) (\S+)$/.exec(frame) ?? [];
  if (functions === undefined) return [frame];
  return functions.split(' ← ').map((name) => (name === 'call' || name === 'apply' ? name : `${name} ${file}`));
}

/** Puts the folder of the installation before a relative path. */
function located({ installations, folders }: Shared, name: string): (frame: string) => string {
  const roots = installations[name];
  if (roots === undefined) throw new Error(`no installation ${name}`);
  return (frame) => {
    const [, called, path = ''] = /^(.*) ([^/\s()<>]\S*\.py)$/.exec(frame) ?? [];
    if (called === undefined) return frame;
    const [first = '', ...others] = path.split('/');
    const folder = others.length === 0 ? undefined : folders[first];
    if (folder === undefined) return `${called} ${roots['megatron'] ?? roots['site']}/${path}`;
    return `${called} ${[folder.replace(/\{(\w+)\}/, (_, root: string) => roots[root]!), ...others].join('/')}`;
  };
}
