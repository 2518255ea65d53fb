/** Random documents of notations with nesting and references: YAML, JSON, TOML, shell scripts. */
import type { Random } from '../../samples/generate/simulate/random.js';
import { below, oneOf, pickOf, shortLength } from './mutate-bytes.js';
import { CANARY, wordsOf } from './words.js';

const KEYS = wordsOf('keys');
const SCALARS = wordsOf('scalars');
const NAMES = wordsOf('variables');
const ABC = ['a', 'b', 'c'];

/** Block style with anchors, aliases, merge keys, complex keys and tags; wrong now and then. */
export function randomYaml(random: Random): string {
  let budget = 5 + shortLength(random, 300);
  const node = (indent: string, depth: number): string => {
    budget -= 1;
    const anchor = random() < 0.12 ? `&${pickOf(random, ABC)} ` : '';
    if (budget < 0 || depth > 40 || random() < 0.35)
      return ` ${anchor}${random() < 0.15 ? `*${pickOf(random, ABC)}` : pickOf(random, SCALARS)}\n`;
    const lines: string[] = [];
    const isList = random() < 0.3;
    for (let i = shortLength(random, 12); i >= 0; i--) {
      const key = random() < 0.8 ? pickOf(random, KEYS) : `k${below(random, 1000)}`;
      if (isList) lines.push(`${indent}-${node(`${indent}  `, depth + 1)}`);
      else if (random() < 0.04) lines.push(`${indent}? ${node(`${indent}  `, depth + 1).trim()}\n${indent}: x\n`);
      else if (random() < 0.05) lines.push(`${indent}<<: *${pickOf(random, ABC)}\n`);
      else
        lines.push(`${indent}${key}:${node(`${indent}${pickOf(random, ['  ', '  ', '    ', ' ', '\t'])}`, depth + 1)}`);
    }
    return ` ${anchor}\n${lines.join('')}`;
  };
  const documents = Array.from({ length: random() < 0.9 ? 1 : 1 + below(random, 4) }, () => node('', 0));
  return documents.join(pickOf(random, ['---\n', '...\n', '--- |\n'])).replace(/^ *\n/, '');
}

export function randomToml(random: Random): string {
  const values = [...SCALARS, '"""\na\n"""', "'''x'''", '{a = 1}', '1979-05-27T07:32:00Z'];
  return Array.from({ length: shortLength(random, 100) + 1 }, () => {
    const key = pickOf(random, KEYS);
    if (random() >= 0.2) return `${key} = ${pickOf(random, values)}`;
    return `${random() < 0.3 ? '[[' : '['}${key}.${pickOf(random, KEYS)}${random() < 0.3 ? ']]' : ']'}`;
  }).join('\n');
}

const ARGUMENTS = ['--lr', '--micro-batch-size=2', '--tensor-model-parallel-size', '-x', 'train.py', '--', '*'];
const OPENINGS = ['\\', '\\\n', "\\'", '"', "'", '`', '$', '${', '$(', '$((', '<(', '\t', '#', '~', '\0'];
const EXPANSIONS = ['', ':-', '-', ':+', '%%', '##*', '/', ':0:', '^^', '[@]', '[0]'];

/** Assignments, references, quoting, substitutions, here documents, loops and functions around a launch. */
export function randomShell(random: Random): string {
  const name = (): string => pickOf(random, NAMES);
  const pick = (...texts: readonly string[]): string => pickOf(random, texts);
  const word = (depth = 0): string => {
    const inner = (): string => word(depth + 1);
    const plain = [
      () => `$${name()}`,
      () => String(below(random, 1000)),
      () => pick(...ARGUMENTS),
      () => pick(...OPENINGS),
      () => 'text',
    ];
    const nested = [
      () => `"${inner()} ${inner()}"`,
      () => `'${inner()}'`,
      () => `\${${name()}${pick(...EXPANSIONS)}${inner()}}`,
      () => `$(${inner()} ${inner()})`,
      () => `$((${inner()} ${pick('+', '*', '/', '**', '<<')} ${inner()}))`,
      () => `$'\\x1b\\n${inner()}'`,
      () => `{${inner()},${inner()}}`,
      () => `$(touch ${CANARY})`,
    ];
    return oneOf(random, depth > 4 ? plain : [...plain, ...nested]);
  };
  const words = (): string => Array.from({ length: shortLength(random, 12) }, () => word()).join(' ');
  const lines: string[] = random() < 0.5 ? ['#!/bin/bash', '#SBATCH --nodes=2'] : [];
  const block = (depth: number): void => {
    const around = (before: string, ...after: string[]): void => {
      lines.push(before);
      block(depth + 1);
      lines.push(...after);
    };
    const assign = () => lines.push(`${pick('', 'export ', 'local ', 'declare -x ', 'readonly ')}${name()}=${word()}`);
    const end = (): string => pick('&', ';', '&&', '||');
    const plain = [
      ...[assign, assign],
      () => lines.push(`${name()}+="${words()}"`),
      () => lines.push(`torchrun --nproc_per_node ${word()} pretrain_gpt.py ${words()}`),
    ];
    const nested = [
      () => lines.push(`${name()}=(${words()})`),
      () => lines.push(`cat <<${pick('EOF', '-EOF', "'EOF'", '"EOF"')}`, words(), pick('EOF', 'EO', '')),
      () => around(`if [ ${words()} ]; then`, pick('fi', 'else', '')),
      () => around(`for ${name()} in ${words()}; do`, pick('done', '')),
      () => around(`${pick('f', 'train')}() {`, '}', 'train'),
      () => lines.push(`srun ${words()} \\`, `  ${words()} | tee ${word()} 2>&1 ${end()} ${words()}`),
      () => lines.push(`case ${word()} in`, `  ${word()}) ${words()} ;;`, 'esac'),
    ];
    const all: readonly (() => unknown)[] = depth > 6 ? plain : [...plain, ...nested];
    for (let i = shortLength(random, depth === 0 ? 60 : 5); i >= 0; i--) oneOf(random, all);
  };
  block(0);
  return lines.join('\n');
}

/** `key value` texts as `env` and `docker inspect` print them. */
export function randomEnvironment(random: Random): string {
  const settings = ['/usr/lib:/opt', 'expandable_segments:True,max_split_size_mb:128', '()', 'a\\\nb'];
  return Array.from({ length: shortLength(random, 120) }, () => {
    const prefix = pickOf(random, ['', 'export ', 'declare -x ', '  ']);
    return `${prefix}${pickOf(random, [...NAMES, 'NCCL_DEBUG', 'RANK'])}=${pickOf(random, [...SCALARS, ...settings])}`;
  }).join('\n');
}
