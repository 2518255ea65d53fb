import { readStacks } from '../../../derive/stacks/read-stacks.js';
import { explainStack, parseStacks } from '../../../findings/attribution/views/explain-stack.js';
import { MbfError } from '../../../model/errors.js';
import type { ExplainStackResult } from '../../../model/results/rules.js';
import { explainStackDocument } from '../../../report/knowledge/rules-document.js';
import { worded } from '../../../report/words/worded.js';
import { defineVerb } from '../../define-verb.js';
import { choice, count, misuse, operand, option, size } from '../../options.js';
import { readRules } from '../../rules-file.js';
import type { Session } from '../../session.js';
import { readTextFile } from '../../text-input.js';

export const verb = defineVerb({
  name: 'explain-stack',
  operands: {
    file: operand(
      '[file]',
      'stacks as this tool, memory_viz or Python print them, separated by empty lines; - for standard input',
    ),
  },
  options: {
    stack: option('--stack <id>', 'a stack of the store, as `peak --by stack --json` names them', count),
    rules: option('--rules <file>', 'rules of your own (YAML), tried before the built-in ones'),
    pool: choice('--pool <kind>', 'pool of the block', ['default', 'private']),
    lifetime: choice('--lifetime <kind>', 'lifetime of the block', ['resident', 'transient']),
    bytes: option('--size <bytes>', 'the block is so large, e.g. 32MiB', size),
  },
  async ask({ file, stack, rules: rulesFile, pool, lifetime, bytes }, session): Promise<ExplainStackResult> {
    if ((file === undefined) === (stack === undefined))
      throw misuse('name a file of stacks, or a stack of the store with --stack');
    const rules = await readRules(rulesFile);
    const stacks = file === undefined ? [await storedStack(stack!, session)] : await stacksOf(file);
    if (stacks.length === 0) throw misuse(`${file} holds no stack`);
    return {
      schema: 'mbforensics/explain-stack@1',
      stacks: stacks.map(({ from, frames }) => worded(explainStack(rules, from, frames, { pool, lifetime, bytes }))),
    };
  },
  document: explainStackDocument,
});

async function stacksOf(file: string) {
  const name = file === '-' ? '<stdin>' : file;
  return parseStacks(await readTextFile(file)).map((frames, i) => ({ from: `${name} stack ${i + 1}`, frames }));
}

async function storedStack(id: number, session: Session) {
  const { store } = await session.store(undefined);
  const frames = (await readStacks(store, [id])).get(id) ?? [];
  if (frames.length === 0) throw new MbfError('MBF1002', `the store has no stack ${id} with frames`);
  return { from: `stack ${id}`, frames };
}
