import type { Command } from 'commander';
import { writeBridgeGolden, writeMegatronGolden } from '../../../parsers/index.js';
import { statusWords } from '../../findings/compare/checks/status-check.js';
import { describeGolden, describeGoldenList, type NamedGolden } from '../../findings/compare/golden/describe-golden.js';
import { addGolden, type NewGolden, readGoldenRows, removeGolden } from '../../findings/compare/golden/golden-store.js';
import { MbfError } from '../../model/errors.js';
import type { GoldenChangeResult } from '../../model/golden-results.js';
import type { GoldenDocument } from '../../model/measurement.js';
import { goldenChangeText } from '../../report/golden-change-text.js';
import { goldenListText, goldenShowText } from '../../report/golden-text.js';
import type { Store } from '../../store/store.js';
import type { Context } from '../context.js';
import {
  goldenDocumentFile,
  type MeasuredRuns,
  ofGoldenRows,
  resolveGolden,
  resolveMeasured,
} from '../golden-operand.js';
import { oneOf } from '../one-of.js';
import { checkFree, placeOf, putInPlace, withWorkDirectory, writeTextFile } from '../output-file.js';
import { openStore } from '../store-to-open.js';
import { dbPath, resourcesOf } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

const FORMS = ['mbforensics', 'mlm', 'bridge'] as const;

interface AddOptions extends CommonOptions {
  readonly name: string;
  readonly replace?: boolean;
  readonly force?: boolean;
}
interface FileOptions extends CommonOptions {
  readonly name?: string;
  readonly as: string;
  readonly force?: boolean;
  readonly replace?: boolean;
}

export function registerGolden(program: Command, context: Context): void {
  const golden = program
    .command('golden')
    .description('golden values: what runs are compared with; several runs of one name tell how much it varies');

  withCommon(
    golden
      .command('add')
      .description('keep what a run comes to as golden values, or add a repetition to them')
      .argument('[run]', 'a run of the store or a path; default: the run ingested last')
      .requiredOption('--name <name>', 'what to call them')
      .option('--replace', 'in the place of the runs of that name')
      .option('--force', 'although the run did not come to its end'),
    ['golden add night-shift --name llama3-70b', 'golden add runs/again --name llama3-70b'],
  ).action(async (operand: string | undefined, options: AddOptions) => {
    checkName(options.name);
    const measured = await resolveMeasured(operand, options, context);
    const died = measured.runs.find(
      ({ status, peaks }) =>
        status.ending === 'oom' ||
        status.ending === 'failed' ||
        (status.ending === 'no_training' && peaks.length === 0),
    );
    if (died !== undefined && options.force !== true)
      throw new MbfError(
        'MBF1001',
        `run ${died.run} is no golden run (${statusWords(died.status)}); --force keeps it all the same`,
      );
    const added = newRuns(measured, operand ?? measured.name);
    const runs = await withStore(options, context, (store) =>
      addGolden(store, options.name, added, new Date(), options.replace === true),
    );
    answer(context, options, changed('added', options.name, runs, dbPath(options, context)), goldenChangeText);
  });

  withCommon(golden.command('list').description('the golden values of the store'), [
    'golden list',
    'golden list --json',
  ]).action(async (options: CommonOptions) => {
    const file = dbPath(options, context);
    const store = await openStore(file, { mode: 'read', ...resourcesOf(options) });
    try {
      const rows = await readGoldenRows(store);
      const goldens = [...new Set(rows.map(({ name }) => name))].map((name): NamedGolden => {
        const own = rows.filter((row) => row.name === name);
        return { name, addedAt: own.at(-1)!.addedAt, runs: ofGoldenRows(name, own).runs };
      });
      answer(context, options, describeGoldenList(file, goldens), goldenListText);
    } finally {
      await store.close();
    }
  });

  withCommon(
    golden
      .command('show')
      .description('what golden values hold')
      .argument('<golden>', 'a name, a golden file, or a run'),
    ['golden show llama3-70b', 'golden show golden_values_dev_dgx_h100.json'],
  ).action(async (operand: string, options: CommonOptions) => {
    const { name, runs, origin } = await resolveGolden(operand, options, context);
    const source = origin === 'golden' ? dbPath(options, context) : operand;
    answer(context, options, describeGolden(name, source, runs), goldenShowText);
  });

  withCommon(
    golden
      .command('export')
      .description('write golden values to a file, to be kept in a repository')
      .argument('<file>', 'the file to write; - is standard output')
      .option('--name <golden>', 'which: a name, a golden file, or a run; default: the only ones of the store')
      .option('--as <form>', `whose form: ${FORMS.join(', ')}`, 'mbforensics')
      .option('--force', 'replace the file'),
    [
      'golden export tests/golden/llama3-70b.json --name llama3-70b',
      'golden export golden_values_dev_dgx_h100.json --name llama3-70b --as mlm',
      'golden export - --name runs/night-shift --as bridge',
    ],
  ).action(async (file: string, options: FileOptions) => {
    const form = oneOf('--as', options.as, FORMS);
    const measured = await resolveGolden(options.name ?? (await onlyName(options, context)), options, context);
    const [first] = measured.runs;
    const text =
      form === 'mlm'
        ? writeMegatronGolden(first!)
        : form === 'bridge'
          ? writeBridgeGolden(first!)
          : documentText({
              schema: 'mbforensics/golden@1',
              name: measured.name,
              written_at: new Date().toISOString(),
              runs: measured.runs,
            });
    if (file === '-') {
      context.out(text);
      return;
    }
    checkFree(file, options.force === true);
    const { parent, name } = placeOf(file);
    await withWorkDirectory(parent, file, async (directory) => {
      const work = `${directory}/${name}`;
      await writeTextFile(work, file, (sink) => sink.write(text));
      putInPlace(work, file, options.force === true);
    });
    answer(context, options, changed('written', measured.name, measured.runs.length, file), goldenChangeText);
  });

  withCommon(
    golden
      .command('import')
      .description('read a golden file into the store: of this tool, of Megatron-LM, or of Megatron Bridge')
      .argument('<file>', 'the golden file')
      .option('--name <name>', 'what to call them; default: the name in the file, or the file name')
      .option('--replace', 'in the place of the runs of that name'),
    ['golden import tests/golden/llama3-70b.json', 'golden import golden_values_dev_dgx_h100.json --name mlm-7b'],
  ).action(async (file: string, options: FileOptions) => {
    const measured = goldenDocumentFile(file);
    const name = options.name ?? measured.name;
    checkName(name);
    const runs = await withStore(options, context, (store) =>
      addGolden(store, name, newRuns(measured, file), new Date(), options.replace === true),
    );
    answer(context, options, changed('added', name, runs, dbPath(options, context)), goldenChangeText);
  });

  withCommon(golden.command('remove').description('forget golden values').argument('<name>', 'their name'), [
    'golden remove llama3-70b',
  ]).action(async (name: string, options: CommonOptions) => {
    const runs = await withStore(options, context, (store) => removeGolden(store, name));
    answer(context, options, changed('removed', name, runs, dbPath(options, context)), goldenChangeText);
  });
}

/** What `resolveGolden` takes for something else. Throws MBF1001. */
function checkName(name: string): void {
  if (!/^[\w.+@-][\w.+@ /-]{0,199}$/.test(name) || name.includes(':'))
    throw new MbfError('MBF1001', `--name ${JSON.stringify(name)}: letters, digits, and _ - . + @ /`);
}

function newRuns({ runs, upstream, upstreamText }: MeasuredRuns, source: string): NewGolden[] {
  if (upstream !== null && upstreamText !== null) return [{ form: 'upstream', source, document: upstreamText }];
  return runs.map((run) => ({ form: 'measurement', source, document: JSON.stringify(run) }));
}

function changed(what: GoldenChangeResult['change'], name: string, runs: number, where: string): GoldenChangeResult {
  return { schema: 'mbforensics/golden-change@1', change: what, name, runs, where };
}

/** One run a line: a repository shows what changed. */
function documentText({ runs, ...head }: GoldenDocument): string {
  const top = JSON.stringify({ ...head, runs: [] }, null, 2).replace(/\[\]\n\}$/, '');
  return `${top}[\n${runs.map((run) => runText(run)).join(',\n')}\n  ]\n}\n`;
}

/** One field a line. */
function runText(run: object): string {
  const fields = Object.entries(run).map(([key, value]) => `      ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  return `    {\n${fields.join(',\n')}\n    }`;
}

async function onlyName(options: CommonOptions, context: Context): Promise<string> {
  const file = dbPath(options, context);
  const store = await openStore(file, { mode: 'read', ...resourcesOf(options) });
  try {
    const names = [...new Set((await readGoldenRows(store)).map(({ name }) => name))];
    if (names.length !== 1)
      throw new MbfError(
        'MBF1009',
        `${file} has ${names.length === 0 ? 'no golden values' : `several: ${names.slice(0, 8).join(', ')}`}; name them with --name`,
      );
    return `golden:${names[0]!}`;
  } finally {
    await store.close();
  }
}

async function withStore<Result>(
  options: CommonOptions,
  context: Context,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await openStore(dbPath(options, context), { mode: 'write', ...resourcesOf(options) });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
