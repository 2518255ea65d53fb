/** Random documents of notations with nesting and references: YAML, JSON, TOML, shell scripts. */
import type { Random } from '../../samples/generate/simulate/random.js';
import { below, CANARY, pickOf, shortLength } from './mutate-bytes.js';

const KEYS = [
  ...['model', 'optimizer', 'micro_batch_size', 'tensor_model_parallel_size', 'seq_length', 'recompute', 'env_vars'],
  ...[
    'lr',
    'name',
    'hub_token',
    'path',
    'a',
    'rules',
    'kind',
    'metadata',
    'items',
    'spec',
    'containers',
    'args',
    'x.y',
  ],
  ...['__proto__', 'constructor', '"quoted key"', "'k'", '0', '~', 'true', '<<', '? ', '[a]', '*a', '&k k', 'a b c'],
];
const SCALARS = [
  ...[
    '1',
    '-7',
    '3.5e-4',
    'true',
    'null',
    '~',
    'bf16',
    '"text"',
    "'it''s'",
    '2026-01-01',
    '0o17',
    '0x1F',
    '1_000',
    '.inf',
  ],
  ...[
    '.nan',
    '!!int 5',
    '!!binary aGk=',
    '!python/tuple x',
    '"\\u0000"',
    '"\\x1b[31m"',
    '|\n  text\n  more',
    '>-\n  folded',
  ],
  ...[
    '{a: 1, b: [2, 3]}',
    '[1, [2, [3]]]',
    '*a',
    '&a value',
    '&b {x: *a}',
    '',
    '#',
    '"unclosed',
    "'",
    '- x',
    ': :',
    '@x',
    '`x`',
  ],
];

/** Block style with anchors, aliases, merge keys, complex keys and tags; wrong now and then. */
export function randomYaml(random: Random): string {
  let budget = 5 + shortLength(random, 300);
  const node = (indent: string, depth: number): string => {
    budget -= 1;
    const anchor = random() < 0.12 ? `&${pickOf(random, ['a', 'b', 'c'])} ` : '';
    if (budget < 0 || depth > 40 || random() < 0.35) {
      return ` ${anchor}${random() < 0.15 ? `*${pickOf(random, ['a', 'b', 'c'])}` : pickOf(random, SCALARS)}\n`;
    }
    const lines: string[] = [];
    const isList = random() < 0.3;
    for (let i = shortLength(random, 12); i >= 0; i--) {
      const key = random() < 0.8 ? pickOf(random, KEYS) : `k${below(random, 1000)}`;
      if (isList) lines.push(`${indent}-${node(`${indent}  `, depth + 1)}`);
      else if (random() < 0.04) lines.push(`${indent}? ${node(`${indent}  `, depth + 1).trim()}\n${indent}: x\n`);
      else if (random() < 0.05) lines.push(`${indent}<<: *${pickOf(random, ['a', 'b', 'c'])}\n`);
      else
        lines.push(`${indent}${key}:${node(`${indent}${pickOf(random, ['  ', '  ', '    ', ' ', '\t'])}`, depth + 1)}`);
    }
    return ` ${anchor}\n${lines.join('')}`;
  };
  const documents = Array.from({ length: random() < 0.9 ? 1 : 1 + below(random, 4) }, () => node('', 0));
  return documents.join(pickOf(random, ['---\n', '...\n', '--- |\n'])).replace(/^ *\n/, '');
}

export function randomToml(random: Random): string {
  const lines: string[] = [];
  for (let i = shortLength(random, 100); i >= 0; i--) {
    const key = pickOf(random, KEYS);
    if (random() < 0.2)
      lines.push(`${random() < 0.3 ? '[[' : '['}${key}.${pickOf(random, KEYS)}${random() < 0.3 ? ']]' : ']'}`);
    else
      lines.push(
        `${key} = ${pickOf(random, [...SCALARS, '"""\na\n"""', "'''x'''", '{a = 1}', '1979-05-27T07:32:00Z'])}`,
      );
  }
  return lines.join('\n');
}

const NAMES = [
  'A',
  'B',
  'CUDA_VISIBLE_DEVICES',
  'MODEL',
  'ARGS',
  'PYTORCH_CUDA_ALLOC_CONF',
  'HF_TOKEN',
  'i',
  '1',
  '@',
  '#',
];

/** Assignments, references, quoting, substitutions, here documents, loops and functions around a launch. */
export function randomShell(random: Random): string {
  const name = (): string => pickOf(random, NAMES);
  const word = (depth = 0): string => {
    switch (below(random, depth > 4 ? 5 : 13)) {
      case 0:
        return `$${name()}`;
      case 1:
        return String(below(random, 1000));
      case 2:
        return pickOf(random, [
          '--lr',
          '--micro-batch-size=2',
          '--tensor-model-parallel-size',
          '-x',
          'train.py',
          '--',
          '*',
        ]);
      case 3:
        return pickOf(random, ['\\', '\\\n', "\\'", '"', "'", '`', '$', '${', '$(', '$((', '<(', '\t', '#', '~', '\0']);
      case 4:
        return 'text';
      case 5:
        return `"${word(depth + 1)} ${word(depth + 1)}"`;
      case 6:
        return `'${word(depth + 1)}'`;
      case 7:
        return `\${${name()}${pickOf(random, ['', ':-', '-', ':+', '%%', '##*', '/', ':0:', '^^', '[@]', '[0]'])}${word(depth + 1)}}`;
      case 8:
        return `$(${word(depth + 1)} ${word(depth + 1)})`;
      case 9:
        return `$((${word(depth + 1)} ${pickOf(random, ['+', '*', '/', '**', '<<'])} ${word(depth + 1)}))`;
      case 10:
        return `$'\\x1b\\n${word(depth + 1)}'`;
      case 11:
        return `{${word(depth + 1)},${word(depth + 1)}}`;
      default:
        return `$(touch ${CANARY})`;
    }
  };
  const words = (): string => Array.from({ length: shortLength(random, 12) }, () => word()).join(' ');
  const lines: string[] = random() < 0.5 ? ['#!/bin/bash', '#SBATCH --nodes=2'] : [];
  const block = (depth: number): void => {
    for (let i = shortLength(random, depth === 0 ? 60 : 5); i >= 0; i--) {
      switch (below(random, depth > 6 ? 4 : 11)) {
        case 0:
        case 1:
          lines.push(`${pickOf(random, ['', 'export ', 'local ', 'declare -x ', 'readonly '])}${name()}=${word()}`);
          break;
        case 2:
          lines.push(`${name()}+="${words()}"`);
          break;
        case 3:
          lines.push(`torchrun --nproc_per_node ${word()} pretrain_gpt.py ${words()}`);
          break;
        case 4:
          lines.push(`${name()}=(${words()})`);
          break;
        case 5:
          lines.push(
            `cat <<${pickOf(random, ['EOF', '-EOF', "'EOF'", '"EOF"'])}`,
            words(),
            pickOf(random, ['EOF', 'EO', '']),
          );
          break;
        case 6:
          lines.push(`if [ ${words()} ]; then`);
          block(depth + 1);
          lines.push(pickOf(random, ['fi', 'else', '']));
          break;
        case 7:
          lines.push(`for ${name()} in ${words()}; do`);
          block(depth + 1);
          lines.push(pickOf(random, ['done', '']));
          break;
        case 8:
          lines.push(`${pickOf(random, ['f', 'train'])}() {`);
          block(depth + 1);
          lines.push('}', 'train');
          break;
        case 9:
          lines.push(
            `srun ${words()} \\`,
            `  ${words()} | tee ${word()} 2>&1 ${pickOf(random, ['&', ';', '&&', '||'])} ${words()}`,
          );
          break;
        default:
          lines.push(`case ${word()} in`, `  ${word()}) ${words()} ;;`, 'esac');
      }
    }
  };
  block(0);
  return lines.join('\n');
}

/** `key value` texts as `env` and `docker inspect` print them. */
export function randomEnvironment(random: Random): string {
  return Array.from({ length: shortLength(random, 120) }, () => {
    const value = pickOf(random, [
      ...SCALARS,
      '/usr/lib:/opt',
      'expandable_segments:True,max_split_size_mb:128',
      '()',
      'a\\\nb',
    ]);
    return `${pickOf(random, ['', 'export ', 'declare -x ', '  '])}${pickOf(random, [...NAMES, 'NCCL_DEBUG', 'RANK'])}=${value}`;
  }).join('\n');
}
