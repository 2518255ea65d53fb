import { writeBridgeGolden, writeMegatronGolden } from '../../../../parsers/index.js';
import {
  describeGolden,
  describeGoldenList,
  type NamedGolden,
} from '../../../findings/compare/golden/describe-golden.js';
import {
  addGolden,
  type NewGolden,
  readGoldenRows,
  removeGolden,
} from '../../../findings/compare/golden/golden-store.js';
import { bridgeValuesOf, megatronValuesOf } from '../../../findings/compare/presets/upstream-values-of.js';
import { MbfError } from '../../../model/errors.js';
import { visibleJson } from '../../../model/escape-controls.js';
import { groupBy } from '../../../model/group-by.js';
import type { GoldenChangeResult } from '../../../model/results/golden.js';
import {
  goldenChangeDocument,
  goldenListDocument,
  goldenShowDocument,
} from '../../../report/compare/golden-document.js';
import { defineVerb } from '../../define-verb.js';
import { demandEnded, documentText } from '../../golden-document.js';
import {
  goldenDocumentFile,
  type MeasuredRuns,
  ofGoldenRows,
  resolveGolden,
  resolveMeasured,
} from '../../golden-operand.js';
import { choice, flag, misuse, operand, option, required } from '../../options.js';
import { checkFree, writeWhole } from '../../output-file.js';
import type { Session } from '../../session.js';

const FORMS = ['mbforensics', 'mlm', 'bridge'] as const;
const REPLACE = flag('--replace', 'in the place of the runs of that name');

const add = defineVerb({
  name: 'golden add',
  operands: { run: operand('[run]', 'a run of the store or a path; default: the last run') },
  options: {
    name: required('--name <name>', 'what to call them'),
    replace: REPLACE,
    force: flag('--force', 'although the run did not come to its end'),
  },
  async ask({ run, name, replace, force }, session) {
    checkName(name);
    const measured = await resolveMeasured(run, session);
    demandEnded(measured.runs, force);
    return keep(name, newRuns(measured, run ?? measured.name), replace, session);
  },
  document: goldenChangeDocument,
});

const list = defineVerb({
  name: 'golden list',
  lakeless: true,
  async ask(_, session) {
    const rows = await session.inStore('read', (store) => readGoldenRows(store));
    const goldens: NamedGolden[] = [];
    for (const [name, ownRows] of groupBy(rows, (row) => row.name)) {
      goldens.push({ name, addedAt: ownRows.at(-1)!.added_at, runs: (await ofGoldenRows(name, ownRows)).runs });
    }
    return describeGoldenList(session.db, goldens);
  },
  document: goldenListDocument,
});

const show = defineVerb({
  name: 'golden show',
  lakeless: true,
  operands: { golden: operand('<golden>', 'a name, a golden file, or a run') },
  async ask({ golden }, session) {
    const { name, runs, origin } = await resolveGolden(golden, session);
    return describeGolden(name, origin === 'golden' ? session.db : golden, runs);
  },
  document: goldenShowDocument,
});

const exported = defineVerb({
  name: 'golden export',
  lakeless: true,
  operands: { file: operand('<file>', 'the file to write; - is standard output') },
  options: {
    name: option('--name <golden>', 'which: a name, a golden file, or a run; default: the only ones of the store'),
    form: choice('--as <form>', 'form', FORMS, 'mbforensics'),
    force: flag('--force', 'replace the file'),
  },
  async ask({ file, name, form, force }, session) {
    const measured = await resolveGolden(name ?? (await onlyName(session)), session);
    const written = textAs(form, measured);
    if (file === '-') {
      session.context.out(written);
      return undefined;
    }
    checkFree(file, force);
    await writeWhole(file, written, force);
    return changed('written', measured.name, measured.runs.length, file);
  },
  document: goldenChangeDocument,
});

const imported = defineVerb({
  name: 'golden import',
  lakeless: true,
  operands: { file: operand('<file>', 'the golden file') },
  options: {
    name: option('--name <name>', 'what to call them; default: the name in the file, or the file name'),
    replace: REPLACE,
  },
  async ask({ file, name: asked, replace }, session) {
    const measured = await goldenDocumentFile(file);
    const name = asked ?? measured.name;
    checkName(name);
    return keep(name, newRuns(measured, file), replace, session);
  },
  document: goldenChangeDocument,
});

const remove = defineVerb({
  name: 'golden remove',
  lakeless: true,
  operands: { name: operand('<name>', 'their name') },
  async ask({ name }, session) {
    const runs = await session.inStore('write', (store) => removeGolden(store, name));
    return changed('removed', name, runs, session.db);
  },
  document: goldenChangeDocument,
});

export const verb = defineVerb({
  name: 'golden',
  verbs: [add, list, show, exported, imported, remove],
});

/** What `resolveGolden` takes for something else. Throws MBF1001. */
function checkName(name: string): void {
  if (!/^[\w.+@-][\w.+@ /-]{0,199}$/.test(name) || name.includes(':'))
    throw misuse(`--name ${JSON.stringify(name)}: letters, digits, and _ - . + @ /`);
}

function newRuns({ runs, upstream, upstreamText }: MeasuredRuns, source: string): NewGolden[] {
  if (upstream !== null && upstreamText !== null) return [{ form: 'upstream', source, document: upstreamText }];
  return runs.map((run) => ({ form: 'measurement', source, document: JSON.stringify(run) }));
}

async function keep(name: string, added: NewGolden[], replace: boolean, session: Session): Promise<GoldenChangeResult> {
  const runs = await session.inStore('write', (store) => addGolden(store, name, added, new Date(), replace));
  return changed('added', name, runs, session.db);
}

function changed(what: GoldenChangeResult['change'], name: string, runs: number, where: string): GoldenChangeResult {
  return { schema: 'mbforensics/golden-change@1', change: what, name, runs, where };
}

function textAs(form: (typeof FORMS)[number], { name, runs }: MeasuredRuns): string {
  if (form === 'mlm') return visibleJson(writeMegatronGolden(megatronValuesOf(runs[0]!)));
  if (form === 'bridge') return visibleJson(writeBridgeGolden(bridgeValuesOf(runs[0]!)));
  return documentText({ schema: 'mbforensics/golden@1', name, written_at: new Date().toISOString(), runs });
}

async function onlyName(session: Session): Promise<string> {
  const names = await session.inStore('read', async (store) => [
    ...new Set((await readGoldenRows(store)).map(({ name }) => name)),
  ]);
  if (names.length === 1) return `golden:${names[0]!}`;
  const found = names.length === 0 ? 'no golden values' : `several: ${names.slice(0, 8).join(', ')}`;
  throw new MbfError('MBF1009', `${session.db} has ${found}; name them with --name`);
}
