import type { Command } from 'commander';
import { explainStack, parseStacks } from '../../findings/attribution/views/explain-stack.js';
import { readStacks } from '../../findings/stacks/read-stacks.js';
import { MbfError } from '../../model/errors.js';
import type { ExplainStackResult } from '../../model/rules-results.js';
import { parseSize } from '../../model/units.js';
import { explainStackText } from '../../report/rules-text.js';
import type { Context } from '../context.js';
import { parseCount } from '../count-option.js';
import { oneOf } from '../one-of.js';
import { readRules } from '../rules-file.js';
import { openTargetStore } from '../target.js';
import { readTextFile } from '../text-input.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

interface Options extends CommonOptions {
  readonly stack?: string;
  readonly rules?: string;
  readonly pool?: string;
  readonly lifetime?: string;
  readonly size?: string;
}

export function registerExplainStack(program: Command, context: Context): void {
  withCommon(
    program
      .command('explain-stack')
      .description('which attribution rule a stack falls to, which others match it, at which frame, and why they lose')
      .argument(
        '[file]',
        'stacks as this tool, memory_viz or Python print them, apart by empty lines; - for standard input',
      )
      .option('--stack <id>', 'a stack of the store, as `peak --by stack --json` names them')
      .option('--rules <file>', 'rules of your own (YAML), tried before the built-in ones')
      .option('--pool <kind>', 'the block is of this pool: default or private')
      .option('--lifetime <kind>', 'the block is resident or transient')
      .option('--size <bytes>', 'the block is so large, e.g. 32MiB'),
    ['explain-stack stack.txt', 'explain-stack --stack 412', 'explain-stack - --lifetime resident < stack.txt'],
  ).action(async (file: string | undefined, options: Options) => {
    if ((file === undefined) === (options.stack === undefined))
      throw new MbfError('MBF1001', 'name a file of stacks, or a stack of the store with --stack');
    const rules = await readRules(options.rules);
    const facts = {
      pool: options.pool === undefined ? undefined : oneOf('--pool', options.pool, ['default', 'private'] as const),
      lifetime:
        options.lifetime === undefined
          ? undefined
          : oneOf('--lifetime', options.lifetime, ['resident', 'transient'] as const),
      bytes: sizeOption(options.size),
    };
    const stacks =
      file !== undefined
        ? parseStacks(await readTextFile(file)).map((frames, i) => ({
            from: `${file === '-' ? '<stdin>' : file} stack ${i + 1}`,
            frames,
          }))
        : [await storedStack(parseCount('--stack', options.stack!), options, context)];
    if (stacks.length === 0) throw new MbfError('MBF1001', `${file} holds no stack`);
    const result: ExplainStackResult = {
      schema: 'mbforensics/explain-stack@1',
      stacks: stacks.map(({ from, frames }) => explainStack(rules, from, frames, facts)),
    };
    answer(context, options, result, explainStackText);
  });
}

async function storedStack(id: number, options: Options, context: Context) {
  const opened = await openTargetStore(undefined, options, context);
  try {
    const frames = (await readStacks(opened.store, [id])).get(id) ?? [];
    if (frames.length === 0) throw new MbfError('MBF1002', `the store has no stack ${id} with frames`);
    return { from: `stack ${id}`, frames };
  } finally {
    await opened.close();
  }
}

function sizeOption(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const bytes = parseSize(text);
  if (bytes === undefined) throw new MbfError('MBF1001', `--size ${JSON.stringify(text)} is no size`);
  return bytes;
}
