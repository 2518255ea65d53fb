import { describe, expect, it } from 'vitest';
import { loadData } from '../../src/knowledge/load-data.js';
import { ENUMS } from '../../src/model/columns.js';
import { GAUGE_METRICS, MEMORY_METRICS } from '../../src/model/log-rows.js';
import { NSYS_LAYOUTS } from '../../src/model/nsys-rows.js';
import { INCIDENT_KINDS } from '../../src/model/vocabulary.js';
import { anyOf, checkShape, oneOf, type Shape } from '../../src/text/check-shape.js';

const PIECE: Shape = {
  name: 'string',
  patterns: ['string'],
  'role?': oneOf('head', 'opens', 'follows'),
  'repeats?': 'boolean',
};
const FAMILY: Shape = {
  name: 'string',
  units: oneOf('iec', 'mps', 'xla', 'paddle'),
  gap: 'integer',
  'headsMerge?': 'boolean',
  'headNeedsStatement?': 'boolean',
  anchors: ['string'],
  pieces: [PIECE],
  'contexts?': [{ name: 'string', patterns: ['string'] }],
  wordings: [
    { id: 'string', kind: oneOf(...INCIDENT_KINDS, 'note'), 'when?': ['string'], versions: 'string', source: 'string' },
  ],
};
const CONSTRAINT: Shape = {
  id: 'string',
  exception: oneOf('ValueError', 'AssertionError', 'NotImplementedError', 'RuntimeError', 'any'),
  source: ['string'],
  texts: ['string'],
};
const PREFIX: Shape = {
  ...{ name: 'string', first: 'string', 'second?': 'string', pattern: 'string' },
  ...{ 'flags?': oneOf('i'), 'writer?': oneOf(true) },
};
const METRIC: Shape = { 'metric?': oneOf(...GAUGE_METRICS), 'name?': 'string', 'unit?': 'string', 'factor?': 'number' };
const MEANING: Shape = {
  as: oneOf('field', 'other', 'memory', 'torch-stat', 'value', 'not by iteration', 'step'),
  ...{ 'field?': 'string', 'factor?': 'number', 'name?': 'string', 'unit?': 'string', 'orUnit?': 'string' },
  ...{ 'metric?': oneOf(...MEMORY_METRICS), 'digits?': 'integer', 'places?': 'integer', 'moment?': 'string' },
};
const MARK: Shape = { literal: 'string', what: 'string' };
const TOPIC: Shape = { topic: 'string', pattern: 'string', 'flags?': oneOf('i') };
const NSYS_KIND = oneOf(...Object.keys(NSYS_LAYOUTS));
const NSYS_COLUMN =
  /(?:wide|needed|(?:needed_)?text|narrow|process|thread|nvtx_type) \w+|label \w+ nsys_[a-z_]+ \w+(?: \w+)?|is nsys_[a-z_]+ \w+|always -?\d+|product(?: \w+){3}|own/;
const NSYS_FIELD =
  /(?:int|time|text) [\w.|]+(?: \d+)?|own \w+(?: \w+)?|(?:process|thread) \w+|label [\w.|]+ nsys_[a-z_]+ \w+|is nsys_[a-z_]+ \w+|always \d+|product(?: [\w.]+){3}|nvtx_type/;
const FILES: readonly (readonly [string, Shape])[] = [
  ['log-examples', { '*': 'string' }],
  ['log-prefixes', { parts: { '*': 'string' }, labels: [PREFIX], rules: [PREFIX] }],
  ['env-keys', { '*': [/[A-Z_\d]+\*?/] }],
  ['constraint-texts', { sources: { '*': 'string' }, constraints: [CONSTRAINT] }],
  [
    'inputs/scalar-names',
    {
      producers: [
        {
          ...{ producer: 'string', versions: 'string', source: 'string', 'countsFrom?': 'integer' },
          names: [
            {
              'tag?': 'string',
              'pattern?': 'string',
              'isShared?': 'boolean',
              'countsFrom?': 'integer',
              meaning: MEANING,
            },
          ],
        },
      ],
      torch_stats: { '*': { metric: oneOf(...MEMORY_METRICS), isCount: 'boolean' } },
    },
  ],
  [
    'inputs/system-metrics',
    {
      device: { '*': METRIC },
      host: { '*': { ...METRIC, 'process?': 'string' } },
      disk: { '*': { name: 'string', unit: 'string', 'factor?': 'integer' } },
    },
  ],
  [
    'inputs/monitor-fields',
    [
      {
        table: oneOf('query', 'report', 'dmon', 'pmon', 'dcgm', 'dcgmi'),
        field: 'string',
        kind: oneOf('gauge', 'series', 'change', 'time', 'index', 'uuid', 'bus', 'pid', 'process', 'xid'),
        ...{ name: 'string|null', unit: 'string|null' },
      },
    ],
  ],
  [
    'inputs/skip-rules',
    [{ id: 'string', on: oneOf('file', 'directory', 'any'), pattern: 'string', 'flags?': oneOf('i'), why: 'string' }],
  ],
  [
    'inputs/kubernetes-events',
    [
      {
        ...{ id: 'string', reason: 'string', 'message?': 'string', 'flags?': oneOf('i') },
        ...{ kind: oneOf(...INCIDENT_KINDS, 'xid'), source: 'string' },
      },
    ],
  ],
  [
    'inputs/log-containers',
    { names: ['string'], lineEnds: ['string'], cells: ['string'], unseen: ['string'], entities: { '*': 'string' } },
  ],
  [
    'inputs/known-wrong',
    {
      names: { '*': 'string' },
      rules: [
        {
          ...{ id: 'string', code: /MBF2\d{3}/, status: oneOf('failed', 'skipped', 'by-name'), fact: 'string' },
          ...{
            'named?': ['string'],
            'notNamed?': ['string'],
            'name?': 'string',
            'text?': ['string'],
            'not?': ['string'],
            'yields?': oneOf(true),
          },
        },
      ],
    },
  ],
  ['inputs/notes', { '*': { severity: oneOf('info', 'warning'), text: 'string' } }],
  ['inputs/nsys-options', { capture: ['string'], export: ['string'] }],
  [
    'inputs/nsys-tables',
    {
      groups: { '*': { '*': NSYS_COLUMN } },
      nvtx_types: { '*': oneOf(...ENUMS.nsys_nvtx_type) },
      tables: [
        {
          ...{ table: 'string', kind: NSYS_KIND, needs: ['string'], with: ['string'], columns: { '*': NSYS_COLUMN } },
          'row_text?': { from: 'string', to: 'string' },
        },
      ],
    },
  ],
  [
    'inputs/nsys-records',
    {
      counted: { '*': 'string' },
      groups: { '*': { '*': NSYS_FIELD } },
      records: [
        {
          ...{ types: ['integer'], event: ['string'], table: 'string', 'kind?': NSYS_KIND, 'with?': ['string'] },
          ...{ 'is_loose?': oneOf(true), 'classes?': ['integer'], 'has?': 'string', 'needs?': ['string'] },
          'columns?': { '*': NSYS_FIELD },
        },
      ],
    },
  ],
  [
    'inputs/shell-commands',
    {
      commands: { '*': oneOf('slurm', 'launcher', 'mpi', 'container') },
      ...{ slurm: { '*': 'string' }, mpi: { '*': 'string' } },
      ...{ trainers: ['string'], launcher: ['string'], switches: ['string'] },
    },
  ],
  ['inputs/log-marks', { logs: [MARK], documents: [MARK] }],
  [
    'inputs/exception-rules',
    [{ kind: oneOf(...INCIDENT_KINDS), 'name?': 'string', 'message?': 'string', 'flags?': oneOf('i') }],
  ],
  ['inputs/figures', { parts: { '*': 'string' }, figure: 'string', units: [TOPIC], topics: [TOPIC], others: [TOPIC] }],
  ['inputs/snapshot-features', [{ id: /\w+(?:\.\w+)?/, since: /\d+\.\d+/ }]],
  ['inputs/slurm-fields', ['string']],
  ['inputs/pickle-opcodes', { refused: { '*': /[A-Z_\d]+/ }, unsupported: { '*': /[A-Z_\d]+/ } }],
  ['inputs/slurm-states', [{ state: 'string', kind: anyOf('null', oneOf(...INCIDENT_KINDS)) }]],
  [
    'config-keys',
    {
      sections: [{ name: 'string', 'aliases?': { '*': ['string'] }, 'without_aliases?': ['string'] }],
      negated_flags: { '*': 'string' },
      inverted_keys: { '*': 'string' },
      lists: ['string'],
      other_namespaces: ['string'],
      overrides: ['string'],
      generic: ['string'],
      wrappers: ['string'],
      names_of_memory: { memory: ['string'], other: ['string'] },
    },
  ],
  [
    'oom-messages',
    {
      units: { '*': { '*': 'number' } },
      tensor_types: { '*': 'integer' },
      device_assert_anchors: ['string'],
      exception_classes: ['string'],
      families: [FAMILY],
    },
  ],
];

describe('data files of the log parser have their shape', () => {
  it.each(FILES)('%s', (name, shape) => {
    expect(checkShape(loadData(name), shape)).toEqual([]);
  });

  it('constraints cite sources of their list', () => {
    const { sources, constraints } = loadData('constraint-texts') as {
      sources: Record<string, string>;
      constraints: { source: string[] }[];
    };
    expect(new Set(constraints.flatMap(({ source }) => source))).toEqual(new Set(Object.keys(sources)));
  });
});
