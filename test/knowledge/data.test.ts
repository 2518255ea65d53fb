/** The data files have the shape that their loaders promise, and every id that one of them cites exists. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readAllocConf } from '../../src/allocator/settings.js';
import { lintRules } from '../../src/derive/lint/rules.js';
import { FRAMEWORKS } from '../../src/derive/settings/facts.js';
import { TARGET_NAMES } from '../../src/findings/advice/fix.js';
import { FIXES } from '../../src/findings/advice/fixes/index.js';
import { NON_FIX_REASONS } from '../../src/findings/advice/non-fixes.js';
import { allocatorOptions } from '../../src/findings/flows/explain/upstream.js';
import { ALLOCATOR_OPTIONS, KNOB_EFFECTS } from '../../src/findings/settings/knob-effects.js';
import { activityData } from '../../src/knowledge/activities.js';
import { DISAGREEMENTS } from '../../src/knowledge/disagreements.js';
import { KNOB_GROUPS, KNOBS } from '../../src/knowledge/knobs/index.js';
import { loadData } from '../../src/knowledge/load-data.js';
import { EXPERIMENTS, WORKLOADS } from '../../src/knowledge/measured.js';
import { moduleLists } from '../../src/knowledge/module-lists.js';
import { SYMPTOMS } from '../../src/knowledge/symptoms.js';
import { THRESHOLDS } from '../../src/knowledge/thresholds/threshold.js';
import { upstreamNames } from '../../src/knowledge/upstream-names.js';
import { VERSION_NAMES } from '../../src/model/results/log.js';
import { CAUSES, COMPONENTS } from '../../src/model/vocabulary.js';
import { wordTable } from '../../src/report/words/fill.js';
import { anyOf, checkShape, oneOf, repeated, type Shape } from '../../src/text/check-shape.js';

const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);
const rules = new Set(idsOf(lintRules()));
const disagreements = new Set(idsOf(DISAGREEMENTS));

const LIST = ['string'] as const;
const GRADE = { 'measured?': 'string', 'asserted?': 'string', 'documented?': 'string', 'config?': 'string' };
const effect = (...words: readonly string[]): Shape =>
  anyOf(oneOf(...words), Object.fromEntries(words.map((word) => [`${word}?`, 'string'])));

const NAMES = anyOf('string', LIST);
const FRAME: Shape = { 'file?': NAMES, 'function?': NAMES };

const KNOB: Shape = [
  {
    id: /[\w.-]+/,
    'title?': 'string',
    'kind?': oneOf('env', 'launch', 'tool'),
    'isAdded?': oneOf(true),
    'spellings?': { 'nemo?': LIST, 'megatron_bridge?': LIST, 'megatron_lm?': LIST },
    'misspelt?': LIST,
    'values?': 'string',
    'memory?': effect('less', 'more', 'none', 'depends', 'unknown'),
    'speed?': effect('faster', 'slower', 'none', 'depends', 'unknown'),
    evidence: [{ ...GRADE, source: 'string' }],
    'requires?': LIST,
    'conflicts?': LIST,
    'rules?': LIST,
    'disputes?': [/D\d+/],
  },
];

const TOWARDS = anyOf(oneOf('larger', 'smaller', 'on', 'off', 'list_longer', 'list_shorter', 'dtypes', null), [
  anyOf('string', LIST),
]);

const ANSWER: Shape = [oneOf('confirmed', 'refuted', 'untested'), 'string'];

const TEXTS: Shape = { '*': 'string' };

const SHAPES: Readonly<Record<string, Shape>> = {
  verbs: {
    '*': {
      'heading?': 'string',
      'called?': /^[a-z]+ [a-z]+$/,
      summary: 'string',
      'notes?': 'string',
      'examples?': LIST,
      'closing?': 'string',
    },
  },
  'upstream-names': [
    {
      of: 'string',
      source: 'string',
      'bridge?': /cfg\.\w+/,
      'since?': { '*': [/[A-Za-z]\w+/] },
      'gone?': { '*': [/[A-Za-z]\w+/] },
      'no_argument?': LIST,
      'names?': [/[A-Za-z]\w+/],
    },
  ],
  'module-lists': {
    '*': { source: 'string', what: 'string', modules: { '*': { 'since?': /0\.\d+|dev/, does: 'string' } } },
  },
  'allocator-options': { '*': { 'since?': /\d+\.\d+/, does: 'string' } },
  terms: { '*': /.+/ },
  'framework-versions': { '*': { '*': /\d+\.\d+/ } },
  defaults: {
    model_keys: ['string'],
    defaults: [
      {
        source: /.*\.py.*/,
        'frameworks?': [oneOf(...FRAMEWORKS)],
        'versions?': { package: oneOf(...VERSION_NAMES), 'from?': /[\d.]+/, 'before?': /[\d.]+/ },
        'when?': 'string',
        'printed?': 'boolean',
        values: { '*': 'string|integer|boolean|null' },
      },
    ],
  },
  'thresholds/thresholds': { '*': { '*': { value: 'number', unit: 'string', reason: 'string', source: 'string' } } },
  disagreements: [{ id: /D\d+/, topic: 'string', a: 'string', b: 'string', resolution: 'string', concerns: LIST }],
  ...Object.fromEntries(KNOB_GROUPS.map(({ id }) => [`knobs/${id}`, KNOB])),
  measured: {
    workloads: [
      {
        id: 'string',
        text: 'string',
        model: 'string',
        'gpus?': 'string',
        'golden_tflops?': 'number',
        'regression_percent?': 'number',
      },
    ],
    experiments: [
      {
        ...{ id: 'string', workload: 'string', title: 'string', result: 'string', source: 'string' },
        ...{ 'layout?': { '*': 'integer' }, 'settings?': { '*': 'string' }, 'control?': 'string', 'caveat?': 'string' },
        ...{
          'isRounded?': oneOf(true),
          'isMatched?': oneOf(true),
          'tflops?': 'number',
          'vs_golden_percent?': 'number',
        },
        ...{ 'peak_gb?': 'number', 'peak_change_gb?': 'number', 'peak_change_percent?': 'number' },
        ...{ 'step_factor?': 'number', 'throughput_change_percent?': 'number' },
      },
    ],
  },
  'config-places': [{ bridge: [/cfg\.[\w.]+\*?/], nemo: [/recipe\.[\w.]+(?:\*|=\w+)?/], keys: [/[a-z0-9_.]+/] }],
  'knob-effects': {
    sets: { '*': LIST },
    dtypes: [LIST],
    allocator_options: { '*': { '*': TOWARDS } },
    effects: {
      '*': {
        components: LIST,
        'memory?': TOWARDS,
        'factor?': { 'linear?': LIST, 'inverse?': LIST },
        'beyond?': oneOf(true),
        'causes?': { '*': TOWARDS },
        'unset?': 'string',
        'time?': TOWARDS,
      },
    },
  },
  fixes: {
    fixes: [
      {
        ...{ id: /[a-z0-9-]+/, title: 'string', order: 'integer', causes: [oneOf(...CAUSES)], source: 'string' },
        'numerics?': oneOf(true),
        'only?': oneOf(true),
        'unproven?': oneOf(true),
        'answers?': LIST,
        'acts_on?': oneOf(...TARGET_NAMES),
        'trainer?': oneOf('any', 'other'),
        'site?': oneOf('activity', 'size'),
      },
    ],
    proposals: {
      '*': {
        ...{ 'title?': 'string', 'saving?': 'string', 'cost?': 'string', 'free?': 'string' },
        ...{ 'settings?': { '*': 'string|null' }, 'env?': { '*': 'string|null' } },
        ...{ 'requires?': LIST, 'disputes?': LIST, 'python?': LIST, 'measured?': LIST, 'experiments?': LIST },
        ...{ 'percent?': 'number', 'when?': 'string' },
        'evidence?': [{ text: 'string', grade: oneOf('documented'), source: 'string' }],
      },
    },
    non_fixes: [
      {
        ...{ id: /[a-z0-9-]+/, title: 'string', source: 'string', 'experiments?': LIST, 'why?': 'string' },
        ...{ 'keys?': LIST, 'module?': 'string' },
      },
    ],
    published_cases: [
      {
        ...{ name: 'string', baseline: 'string', sizes: { '*': 'integer' }, 'off?': 'string' },
        outcomes: { '*': 'string' },
      },
    ],
  },
  'memory-keys': { '*': [/[a-z][a-z0-9_]*/] },
  'memory-words': {
    ...{ releases: LIST, retains: LIST, grows: LIST, slows: LIST, speeds: LIST },
    components: { '*': 'string' },
  },
  packages: { '*': { paths: LIST, 'components?': [oneOf(...COMPONENTS)] } },
  'change-kinds': { '*': LIST },
  activities: {
    activities: [
      {
        ...{ id: /[a-z_]+/, source: 'string', 'outer?': oneOf(true), 'known?': oneOf(true), 'code?': 'string' },
        ...{
          'words?': 'string',
          'phases?': LIST,
          'labels?': LIST,
          'at?': anyOf(FRAME, [FRAME]),
          'without?': anyOf(FRAME, [FRAME]),
        },
        ...{ 'first?': LIST, 'last?': LIST, 'no_use?': LIST },
      },
    ],
  },
  trainers: {
    trainers: [
      {
        ...{ id: 'string', keys: LIST, form: oneOf('flag', 'yaml', 'python'), source: 'string' },
        ...{ 'command?': 'string', 'frames?': 'string', 'checkpoints?': oneOf(true), 'accumulates?': oneOf(true) },
        ...{ 'attention?': { '*': 'string' }, 'length?': 'string', 'pixels?': { '*': 'integer' } },
        ...{ 'lines?': { '*': LIST }, fixes: { '*': { '*': 'string|null' } } },
      },
    ],
    sharded: { frames: 'string', settings: [{ name: 'string', value: 'string' }], source: 'string' },
  },
  symptoms: [
    {
      ...{ id: /S\d+/, name: 'string', 'finding?': 'string', 'refusal?': { of: LIST, when: 'string' } },
      ...{ symptom: 'string', cause: 'string', confirm: 'string', fix: 'string' },
    },
  ],
  devices: {
    models: [{ pattern: 'string', 'capability?': 'number', gib: 'integer', 'bf16_tflops?': 'integer' }],
    targets: [{ label: /[A-Z0-9-]+/, mib: 'integer', source: 'string' }],
  },
  'words/codes': { '*': { '*': 'string' } },
  'words/moment': { '*': { '*': 'string' } },
  'words/history': { notes: { '*': 'string' }, missing: { '*': 'string' } },
  'words/advice': { limits: TEXTS, shortfall: TEXTS, figures: TEXTS, experiments: TEXTS, non_fixes: TEXTS },
  'words/facts': { facts: TEXTS },
  'words/fixes': { sentences: TEXTS },
  'words/bisect': { sentences: TEXTS },
  'words/diff': { sentences: TEXTS },
  'words/presets': { sentences: TEXTS },
  'words/suspects': { sentences: TEXTS, on_cause: TEXTS },
  'words/verify': { sentences: { '*': 'string' }, needs: { '*': 'string' } },
  'words/symptoms': {
    all: { '*': ANSWER },
    '*': { seen: 'string', 'instead?': 'string', 'answers?': { '*': ANSWER } },
  },
};

it.each(Object.entries(SHAPES))('%s has its shape', (name, shape) => {
  expect(checkShape(loadData(name), shape)).toEqual([]);
});

it('names of upstream are in one place, and have a release that is known', () => {
  const names = (loadData('upstream-names') as readonly Readonly<Record<string, unknown>>[]).flatMap((group) => [
    ...Object.values((group['since'] ?? {}) as Readonly<Record<string, string[]>>).flat(),
    ...((group['names'] ?? []) as string[]),
  ]);
  expect(repeated(names)).toEqual([]);
  const releases = new Set([...upstreamNames().values()].map(({ since }) => since));
  expect(releases).toEqual(new Set(['0.15', '0.16', '0.17', '0.18', '0.19', '0.20', 'dev', null]));
});

it('rules name the modules that only some releases have', () => {
  for (const [key, rule] of [
    ['recompute_modules', 'rc-modules'],
    ['offload_modules', 'fine-modules'],
  ] as const) {
    const message = lintRules().find(({ id }) => id === rule)!.message;
    const newer = Object.entries(moduleLists()[key]!.modules).filter(([, { since }]) => since !== undefined);
    expect(newer.filter(([name]) => !message.includes(name))).toEqual([]);
  }
});

it('options of the allocator are those that its settings are read with', () => {
  for (const name of Object.keys(allocatorOptions()))
    expect(readAllocConf(`${name}:1`).problems.join(), name).not.toContain('not a known option');
});

it('every symptom has words', () => {
  const { all: _, ...words } = loadData('words/symptoms') as Record<string, unknown>;
  expect(Object.keys(words)).toEqual(idsOf(SYMPTOMS));
});

it('components of effects of knobs exist', () => {
  const components = [...KNOB_EFFECTS.values()].flatMap((one) => [...one.components, ...(one.factor?.of ?? [])]);
  expect(components.filter((component) => !COMPONENTS.includes(component))).toEqual([]);
});

it('causes of effects of knobs exist, and have words', () => {
  const known = [...KNOB_EFFECTS.values(), ...Object.values(ALLOCATOR_OPTIONS).map((causes) => ({ causes }))];
  const causes = new Set(known.flatMap((one) => Object.keys(one.causes)));
  expect([...causes].filter((cause) => !CAUSES.some((one) => one === cause))).toEqual([]);
  expect(Object.keys(wordTable('phrases', 'cause_parts')).sort()).toEqual([...causes].sort());
});

it('config-places has one default and names no key twice', () => {
  const rows = loadData('config-places') as readonly { readonly keys: readonly string[] }[];
  expect(rows.filter(({ keys }) => keys.length === 0)).toHaveLength(1);
  expect(repeated(rows.flatMap(({ keys }) => keys))).toEqual([]);
});

it('what activities name exists: fixes, targets, components, and words', () => {
  const fixes = new Set(FIXES.map(({ id }) => id));
  const targets = new Set<string>(TARGET_NAMES);
  for (const { id, first = [], last = [], no_use: noUse = [], labels = [] } of activityData()) {
    expect(
      first.filter((name) => !fixes.has(name)),
      id,
    ).toEqual([]);
    expect(
      [...last, ...noUse].filter((name) => !fixes.has(name) && !targets.has(name)),
      id,
    ).toEqual([]);
    expect(
      labels.filter((name) => !(COMPONENTS as readonly string[]).includes(name.split('.')[0]!)),
      id,
    ).toEqual([]);
    expect(wordTable('phrases', 'sites')[id], id).toBeDefined();
  }
  const called = new Set(activityData().flatMap(({ first = [] }) => first));
  expect(FIXES.filter(({ id, site }) => site === 'activity' && !called.has(id)).map(({ id }) => id)).toEqual([]);
});

it('every fix and non-fix of fixes.yaml has code', () => {
  const data = loadData('fixes') as Readonly<Record<'fixes' | 'non_fixes', readonly { readonly id: string }[]>> & {
    readonly proposals: object;
  };
  expect(idsOf(FIXES)).toEqual(idsOf(data.fixes));
  expect(FIXES.map(({ order }) => order)).toEqual(FIXES.map(({ order }) => order).sort((a, b) => a - b));
  expect(Object.keys(NON_FIX_REASONS)).toEqual(idsOf(data.non_fixes));
  expect(idsOf(data.fixes)).toEqual(expect.arrayContaining(Object.keys(data.proposals)));
});

it('every threshold is asked for by one file of code, and is there', () => {
  const src = new URL('../../src/', import.meta.url);
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const asked = files.flatMap((name) =>
    [...readFileSync(new URL(name, src), 'utf8').matchAll(/threshold\('([^']+)'\)/g)].map(([, asked]) => asked!),
  );
  const known = Object.entries(THRESHOLDS).flatMap(([group, rows]) =>
    Object.keys(rows).map((name) => `${group}.${name}`),
  );
  expect(asked.sort()).toEqual(known.sort());
});

describe('ids', () => {
  it.each([
    ['knobs', KNOBS],
    ['disagreements', DISAGREEMENTS],
    ['experiments', EXPERIMENTS],
    ['rules, symptoms and fixes', [...lintRules(), ...SYMPTOMS, ...FIXES]],
  ])('of %s are unique', (_, rows) => {
    expect(repeated(idsOf(rows))).toEqual([]);
  });

  it('of rules and disagreements that knobs cite exist', () => {
    // The id of a constraint stands for the rules that are its parts: `id-…`.
    const isKnown = (id: string): boolean => rules.has(id) || [...rules].some((rule) => rule.startsWith(`${id}-`));
    expect(KNOBS.flatMap((knob) => knob.rules).filter((id) => !isKnown(id))).toEqual([]);
    expect(KNOBS.flatMap((knob) => knob.disputes).filter((id) => !disagreements.has(id))).toEqual([]);
  });

  it('of rules, symptoms and fixes that disagreements concern exist', () => {
    const known = new Set(idsOf([...lintRules(), ...SYMPTOMS, ...FIXES]));
    expect(DISAGREEMENTS.flatMap(({ concerns }) => concerns).filter((id) => !known.has(id))).toEqual([]);
  });
});

describe('measurements', () => {
  it('belong to a workload, and are compared with a row that exists', () => {
    const workloads = new Set(idsOf(WORKLOADS));
    const ids = new Set(idsOf(EXPERIMENTS));
    for (const { id, workload, control } of EXPERIMENTS) {
      expect(workloads, id).toContain(workload);
      if (control !== null && /^(?:llama|qwen|nemotron)-/.test(control)) expect(ids, id).toContain(control);
    }
  });

  it('add up: the change is the difference of the peaks, the percentage that of the throughput', () => {
    for (const experiment of EXPERIMENTS) {
      const control = EXPERIMENTS.find(({ id }) => id === experiment.control);
      if (control?.peak_gb != null && experiment.peak_gb !== null && experiment.peak_change_gb !== null)
        expect(experiment.peak_gb - control.peak_gb, experiment.id).toBeCloseTo(experiment.peak_change_gb, 1);
      const golden = WORKLOADS.find(({ id }) => id === experiment.workload)?.golden_tflops;
      // One figure is printed with a rounding of its own.
      if (golden != null && experiment.tflops !== null && experiment.vs_golden_percent !== null) {
        const percent = (100 * experiment.tflops) / golden - 100;
        expect(Math.abs(percent - experiment.vs_golden_percent), experiment.id).toBeLessThan(0.06);
      }
    }
  });
});

describe('knobs', () => {
  it('have spellings that can be used', () => {
    for (const { id, spellings } of KNOBS) {
      for (const flag of spellings.megatron_lm)
        expect(flag, id).toMatch(/^(?:--[a-z0-9-]+|[A-Z][A-Z0-9_]+|[\w./-]+(?: .*)?)$/);
      for (const text of Object.values(spellings).flat()) expect(text, id).not.toMatch(/granuality|\(arg |–/);
    }
  });

  it('have evidence', () => {
    expect(idsOf(KNOBS.filter(({ evidence }) => evidence.length === 0))).toEqual([]);
  });

  it('cite no file that is not public', () => {
    const texts = JSON.stringify([KNOBS, DISAGREEMENTS, EXPERIMENTS]);
    expect(texts).not.toMatch(/guides\.md|megatron\.md|\/work\/|\[(?:mem|off|nemo)\]/);
  });
});

it('no phrase has the name of a figure', () => {
  const folder = fileURLToPath(new URL('../../src/knowledge/words', import.meta.url));
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  // Phrases are without a form, and no condition asks for them.
  const figures = new Set(texts.flatMap((text) => [...text.matchAll(/\{@?(\w+)[:?=!<>]/g)].map(([, name]) => name!)));
  expect(figures.size).toBeGreaterThan(100);
  expect(Object.keys(wordTable('phrases', 'phrases')).filter((name) => figures.has(name))).toEqual([]);
});
