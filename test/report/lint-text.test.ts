/** What `lint` prints: a section for each broken rule, one line for undecided ones, no line wider than a screen. */
import { describe, expect, it } from 'vitest';
import type { LintFact, LintFinding, LintResult, LintUnknown } from '../../src/model/results/lint.js';
import { documentJson } from '../../src/report/render/json.js';
import { documentText } from '../../src/report/render/text.js';
import { type LintLook, lintDocument } from '../../src/report/start/lint-document.js';
import { lintSarif } from '../../src/report/start/lint-sarif.js';
import { goldenFile } from '../screens/golden-file.js';

const fact = (key: string, value: string | null, rest: Partial<LintFact> = {}): LintFact => ({
  key,
  value,
  by: 'told',
  raw_key: `model.${key}`,
  file: 'conf/run_config.yaml',
  line: 51,
  source: null,
  ...rest,
});
const untold = { raw_key: null, file: null, line: null } as const;
const PP = fact('pipeline_model_parallel_size', '4', {
  ...untold,
  by: 'default',
  source: 'Megatron-LM megatron/core/model_parallel_config.py ModelParallelConfig',
});
const FINDING: LintFinding = {
  rule: 'offload-pp',
  severity: 'error',
  accepted_by: null,
  file: 'conf/run_config.yaml',
  line: 51,
  keys: ['cpu_offloading', 'pipeline_model_parallel_size'],
  message: 'cpu_offloading does not work with pipeline parallelism (PP 4).',
  fix: 'Drop cpu_offloading.',
  source: 'Megatron-LM megatron/core/transformer/transformer_config.py __post_init__',
  error: 'Currently there is no support for Pipeline parallelism with CPU offloading',
  evidence: 'asserted',
  facts: [fact('cpu_offloading', 'True'), PP],
};
const UNKNOWN: LintUnknown = {
  rule: 'ub-expand',
  severity: 'error',
  message: '',
  needs: ['torch'],
  facts: [],
};
const RESULT: LintResult = {
  schema: 'mbforensics/lint@1',
  subject: ['conf/run_config.yaml', 'launch.sbatch'],
  run: null,
  framework: { name: 'megatron-bridge', version: '0.6' },
  versions: { megatron_bridge: '0.6', torch: '2.11' },
  device: 'h100-80gb',
  environment: 'partial',
  rules: 118,
  settings: 124,
  findings: [FINDING],
  unknown: [],
  unknown_settings: [],
  assumed: [PP],
};
const text = (changes: Partial<LintResult> = {}, look: LintLook = {}): string =>
  documentText(lintDocument({ ...RESULT, ...changes }, look));

describe('lint as text', () => {
  it('shows rule, place, reason, framework message and the fix', async () => {
    await expect(text()).toMatchFileSnapshot(goldenFile('lint.txt'));
  });

  it('names the place of each value, and different spellings', () => {
    const facts = [
      fact('cpu_offloading', 'True'),
      fact('recompute_granularity', 'selective', {
        raw_key: '--recompute-activations',
        file: 'launch.sbatch',
        line: 7,
      }),
      fact('num_layers', null, { line: 60 }),
      fact('NCCL_DEBUG', null, { ...untold, by: 'assumed' }),
      fact('torch', null, { ...untold, by: 'unknown' }),
    ];
    const shown = text({ findings: [{ ...FINDING, facts }] }).replaceAll(/\s+/g, ' ');
    expect(shown).toContain(
      'cpu_offloading: True, recompute_granularity (as --recompute-activations): selective (launch.sbatch:7), num_layers: None (line 60), NCCL_DEBUG: not set (nothing sets it), torch: not known',
    );
  });

  it('has a section for each finding, and every message whole', () => {
    const note: LintFinding = { ...FINDING, severity: 'note', message: 'word '.repeat(60).trim(), error: null };
    const changes = { findings: [FINDING, note, note] };
    const shown = text(changes);
    expect(shown.split('\n').filter((line) => line === 'note offload-pp conf/run_config.yaml:51')).toHaveLength(2);
    expect(shown.replaceAll(/\s+/g, ' ')).toContain(note.message);
    expect(documentJson(lintDocument({ ...RESULT, ...changes }))).toMatchObject({
      findings: [
        { rule: 'offload-pp', severity: 'error', file: 'conf/run_config.yaml', line: 51, message: FINDING.message },
        { severity: 'note' },
        { severity: 'note' },
      ],
    });
  });

  const UNDECIDED: LintUnknown[] = [
    { ...UNKNOWN, rule: 'few', severity: 'note', needs: ['device', 'CUDA_DEVICE_MAX_CONNECTIONS'] },
    UNKNOWN,
    { ...UNKNOWN, rule: 'ub-other' },
  ];

  it('has one line for undecided rules', () => {
    expect(text({ findings: [], assumed: [], unknown: UNDECIDED })).toContain(`
no rule is broken
3 rules (2 of severity error) need facts that are not here; --full lists them
0 errors, 0 warnings, 0 notes; 118 rules on 124 settings
`);
    expect(text({ findings: [], unknown: UNDECIDED.slice(0, 1) })).toContain('\n1 rule needs facts that are not here;');
  });

  it('lists them with --full, grouped by what they need', () => {
    expect(text({ findings: [], unknown: UNDECIDED }, { isFull: true })).toContain(`
3 rules undecided, 2 of severity error
rules                needs
ub-expand, ub-other  torch
few                  device, CUDA_DEVICE_MAX_CONNECTIONS
to decide more: --version-of torch=VERSION, --gpu NAME, --env FILE
`);
  });

  it('shows names whole, counts what is left out of long values, and moves no cursor, whatever files hold', () => {
    const wild = `\u001b[2J${'x'.repeat(300)} ${'y '.repeat(200)}`;
    const findings = (['error', 'warning', 'note'] as const).map((severity) => ({
      ...FINDING,
      severity,
      file: wild,
      message: wild,
      facts: [fact(wild, wild, { raw_key: wild, file: wild }), fact('a', wild, { file: wild, line: 2 })],
    }));
    const unknown = Array.from({ length: 40 }, (_, i) => ({ ...UNKNOWN, rule: `rule-${i}`, needs: [`${wild}${i}`] }));
    const framework = { name: 'nemo', version: wild };
    const changes = { findings, unknown, subject: Array(20).fill(wild), device: wild, framework };
    for (const isFull of [false, true]) {
      const shown = text(changes, { isFull });
      // A word that is longer than a line stays whole.
      for (const line of shown.split('\n'))
        expect(
          line.length <= 100 ||
            !line
              .trim()
              .replace(/^set +/, '')
              .includes(' '),
          line,
        ).toBe(true);
      expect(shown.replaceAll(/\s+/g, ' ')).toMatch(/… \(\d+ more characters\)/);
      expect(shown).not.toContain('\u001b');
    }
  });
});

describe('lint as SARIF', () => {
  interface Location {
    readonly physicalLocation?: {
      readonly artifactLocation: { readonly uri: string };
      readonly region?: { readonly startLine: number };
    };
  }
  interface Log {
    readonly version: string;
    readonly runs: readonly {
      readonly tool: { readonly driver: { readonly rules: readonly { readonly id: string }[] } };
      readonly results: readonly {
        readonly ruleId: string;
        readonly ruleIndex: number;
        readonly level: string;
        readonly locations: readonly Location[];
        readonly relatedLocations?: readonly Location[];
      }[];
    }[];
  }
  const RULE = { ...FINDING, id: 'offload-pp', when: { text: 'a and b' }, message: 'not with PP {pp}' };
  const sarif = (findings: readonly LintFinding[], changes: Partial<LintResult> = {}): Log['runs'][number] =>
    (lintSarif({ ...RESULT, ...changes, findings }, [{ ...RULE, id: 'other' }, RULE]) as Log).runs[0]!;

  it('has every rule that was tried, and places by line', () => {
    const facts = [fact('cpu_offloading', 'True'), fact('num_layers', '4', { line: 60 }), PP];
    const run = sarif([{ ...FINDING, facts }]);
    expect(run.tool.driver.rules).toMatchObject([
      { id: 'other' },
      { id: 'offload-pp', shortDescription: { text: 'not with PP pp' }, defaultConfiguration: { level: 'error' } },
    ]);
    const place = (startLine: number) => ({
      physicalLocation: { artifactLocation: { uri: 'conf/run_config.yaml' }, region: { startLine } },
    });
    expect(run.results).toMatchObject([
      { ruleId: 'offload-pp', ruleIndex: 1, level: 'error', locations: [place(51)], relatedLocations: [place(60)] },
    ]);
  });

  it('lists unknown facts at the first file, and none at an invalid file', () => {
    const untoldFinding = { ...FINDING, facts: [PP] };
    expect(sarif([untoldFinding]).results[0]!.locations[0]!.physicalLocation).toMatchObject({
      artifactLocation: { uri: 'conf/run_config.yaml' },
      region: { startLine: 1 },
    });
    for (const changes of [{ subject: ['<stdin>'] }, { subject: ['night-shift'], run: 'night-shift' }])
      expect(sarif([untoldFinding], changes).results[0]!.locations[0]).toEqual({
        logicalLocations: [{ name: 'cpu_offloading' }],
      });
    const fact0 = fact('a', 'b', { line: 0 });
    expect(sarif([{ ...FINDING, facts: [fact0] }]).results[0]!.locations[0]!.physicalLocation).toEqual({
      artifactLocation: { uri: 'conf/run_config.yaml', uriBaseId: '%SRCROOT%' },
    });
  });
});
