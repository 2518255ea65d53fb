/** `lint` as a user has it: configurations of every framework, environments, runs, bad files, exit codes. */
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type { LintResult } from '../../src/model/results/lint.js';
import { asker, expectFits } from '../support/ask.js';
import { cliOf } from '../support/cli.js';
import { samplePath } from '../support/stores.js';

const BRIDGE = `_target_: megatron.bridge.training.config.ConfigContainer
model:
  _target_: megatron.bridge.models.llama.LlamaProvider
  num_layers: 48
  hidden_size: 4096
  cpu_offloading: true
  cpu_offloading_num_layers: 48
  recompute_granularity: selective
  pipeline_model_parallel_size: 4
train:
  micro_batch_size: 1
`;
const SOUND = BRIDGE.replace('cpu_offloading: true', 'cpu_offloading: false');
const SBATCH = `#!/bin/bash
#SBATCH --nodes=4
export CUDA_DEVICE_MAX_CONNECTIONS=8
torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --pipeline-model-parallel-size 2 \\
  --cpu-offloading --bf16
`;
const NEMO = `trainer:
  devices: 8
  num_nodes: 2
  precision: bf16
model:
  num_layers: 32
  pipeline_model_parallel_size: 2
  cpu_offloading: True
  micro_batch_size: 1
`;
/** What torchtitan calls it: an alias of pipeline_model_parallel_size. */
const ALIAS = 'num_layers: 32\nhidden_size: 4096\ncpu_offloading: true\npipeline_parallel_size: 2\n';
const ENVIRON = [
  'PATH=/usr/bin',
  'HOME=/root',
  'PWD=/x',
  'CUDA_DEVICE_MAX_CONNECTIONS=32',
  'NCCL_DEBUG=WARN',
  'NVTE_X=1',
];
const LOG = `------------------------ arguments ------------------------
  cpu_offloading .................................. True
  pipeline_model_parallel_size .................... 2
  num_layers ...................................... 32
-------------------- end of arguments ---------------------
`;

describe('lint', () => {
  const { cli, cwd, options, ends, mbf, put: write } = asker();
  const lint = (status: number, ...args: string[]) => ends(status, 'lint', ...args, '--json=full').json<LintResult>();
  const linesOf = ({ findings }: LintResult): string[] =>
    findings.filter(({ severity }) => severity === 'error').map(({ rule, line }) => `${rule} ${line}`);
  const refuses = (status: number, pattern: RegExp, ...args: string[]): void =>
    expect(ends(status, 'lint', ...args).stderr).toMatch(pattern);

  beforeAll(() => {
    write('bridge.yaml', BRIDGE);
    write('sound.yaml', SOUND);
    write('launch.sbatch', SBATCH);
    write('nemo.yaml', NEMO);
    write('alias.yaml', ALIAS);
    write('environ.txt', `${ENVIRON.join('\n')}\n`);
    write('train.log.gz', gzipSync(LOG));
    write('broken.yaml', `${ALIAS}list: [1, 2\nother: {\n`);
    write('empty.yaml', '');
    write('binary.yaml', Buffer.from(Array.from({ length: 4000 }, (_, i) => (i * 7919) % 256)));
    write('strange.yaml', 'apples: 1\n');
    write('conf/model.yaml', BRIDGE);
    write('conf/launch.sbatch', SBATCH);
    symlinkSync(samplePath('llama3-70b-pp8'), join(cwd, 'sample'));
  });

  it('finds what is wrong with a configuration of Bridge, each at its line', () => {
    const result = lint(1, 'bridge.yaml');
    expect(result).toMatchObject({
      schema: 'mbforensics/lint@1',
      subject: ['bridge.yaml'],
      run: null,
      framework: { name: 'megatron-bridge', version: null },
      device: null,
      environment: 'none',
    });
    expect(linesOf(result)).toEqual(
      expect.arrayContaining(['offload-pp 6', 'offload-recompute 6', 'offload-layers 6']),
    );
    const finding = result.findings.find(({ rule }) => rule === 'offload-pp')!;
    expect(finding.facts).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ key: 'pipeline_model_parallel_size', by: 'told', file: 'bridge.yaml', line: 9 }),
      ]),
    );
    expect(result.rules).toBeGreaterThan(2);
    expect(result.settings).toBeGreaterThanOrEqual(7);
  });

  it('prints the same as text, within a screen', () => {
    const { stdout } = ends(1, 'lint', 'bridge.yaml');
    expect(stdout).toContain('error    offload-pp  bridge.yaml:6\n');
    expect(stdout).toContain('pipeline_model_parallel_size: 4 (line 9)');
    expect(stdout).toContain('mbforensics explain offload-layers');
    expect(stdout).toMatch(/\n\d+ errors?, \d+ warnings?, \d+ notes?; \d+ rules on \d+ settings\n$/);
    expectFits(stdout);
  });

  it('reads flags of a script, NeMo, other spellings, and logs', () => {
    const script = lint(1, 'launch.sbatch');
    expect(script).toMatchObject({ framework: { name: 'megatron-lm' }, environment: 'partial' });
    expect(linesOf(script)).toContain('offload-pp 5');
    expect(linesOf(lint(1, 'nemo.yaml'))).toContain('offload-pp 8');
    const alias = lint(1, 'alias.yaml').findings.find(({ rule }) => rule === 'offload-pp')!;
    expect(alias.facts.find(({ key }) => key === 'pipeline_model_parallel_size')).toMatchObject({
      value: '2',
      raw_key: 'pipeline_parallel_size',
      line: 4,
    });
    expect(linesOf(lint(1, 'train.log.gz'))).toContain('offload-pp 2');
  });

  it('takes several files for one configuration, and a directory for all in it', () => {
    write('override.yaml', 'num_layers: 48\nhidden_size: 4096\nbf16: true\npipeline_model_parallel_size: 1\n');
    const both = lint(0, 'alias.yaml', 'override.yaml', '--rule', 'offload-pp');
    expect(both).toMatchObject({ subject: ['alias.yaml', 'override.yaml'], findings: [] });
    expect(linesOf(lint(1, 'override.yaml', 'alias.yaml'))).toContain('offload-pp 3');
    const directory = lint(1, 'conf');
    expect(directory.subject).toEqual(['conf/launch.sbatch', 'conf/model.yaml']);
    expect(linesOf(directory)).toContain('offload-pp 6');
  });

  it('takes standard input', () => {
    const { stdout } = cli.expect(1, ['lint', '-', '--json=full'], { ...options, input: ALIAS });
    expect(JSON.parse(stdout)).toMatchObject({ subject: ['<stdin>'] });
  });

  it('puts a captured environment before what a script means to set', () => {
    const result = lint(1, 'launch.sbatch', '--env', 'environ.txt');
    expect(result).toMatchObject({ environment: 'whole', subject: ['launch.sbatch', 'environ.txt'] });
    expect(lint(0, 'sound.yaml', '--env', 'launch.sbatch').environment).toBe('partial');
  });

  it('takes framework, versions and device from the options', () => {
    const options = ['--framework', 'megatron-bridge@0.6', '--version-of', 'torch=2.11', '--gpu', 'h100-80gb'];
    expect(lint(1, 'alias.yaml', ...options)).toMatchObject({
      framework: { name: 'megatron-bridge', version: '0.6' },
      versions: { torch: '2.11', megatron_bridge: '0.6' },
      device: 'h100-80gb',
    });
    expect(lint(1, 'bridge.yaml', '--framework', 'megatron-lm@0.19').versions).toMatchObject({ megatron_core: '0.19' });
    for (const [option, value, message] of [
      [
        '--framework',
        'deepspeed',
        /invalid --framework "deepspeed"; expected one of megatron-lm, megatron-bridge, nemo/,
      ],
      ['--framework', 'nemo@', /--framework "nemo@": no version/],
      ['--gpu', 'voodoo2', /unknown --gpu "voodoo2"; expected one such as h100-80gb/],
      ['--version-of', 'tea=2', /invalid --version-of "tea=2"; expected PACKAGE=VERSION/],
    ] as const)
      refuses(2, new RegExp(`MBF1001: ${message.source}`), 'bridge.yaml', option, value);
  });

  it('tries the rules asked for', () => {
    const onlyRule = lint(1, 'bridge.yaml', '--rule', 'offload-pp');
    expect(onlyRule).toMatchObject({ rules: 1, unknown: [] });
    expect(onlyRule.findings.map(({ rule }) => rule)).toEqual(['offload-pp']);
    const errors = lint(1, 'bridge.yaml', '--severity', 'error');
    expect(errors.findings.every(({ severity }) => severity === 'error')).toBe(true);
    const unknown = /MBF1001: unknown --rule "offload-nothing"; expected one such as .*offload-pp/;
    refuses(2, unknown, 'bridge.yaml', '--rule', 'offload-nothing');
    refuses(2, /severity/, 'bridge.yaml', '--severity', 'grave');
  });

  it('ends with 1 for an error, 0 without, and 3 for an undecided one where that is asked for', () => {
    const { stdout } = mbf('lint', 'sound.yaml', '--rule', 'offload-pp');
    expect(stdout).toContain('no rule is broken');
    expect(stdout).toContain('0 errors, 0 warnings, 0 notes; 1 rule on ');
    // The number of layers is unknown.
    write('partial.yaml', 'cpu_offloading: true\ncpu_offloading_num_layers: 12\nhidden_size: 8\n');
    const rule = ['--rule', 'offload-layers'];
    expect(lint(0, 'partial.yaml', ...rule).unknown).toMatchObject([{ rule: 'offload-layers', needs: ['num_layers'] }]);
    const strict = ends(3, 'lint', 'partial.yaml', ...rule, '--strict').stdout;
    expect(strict).toContain('1 rule undecided, an error: offload-layers needs num_layers');
    const last = '--strict: undecided (exit code 3): 1 rule of severity error could not be checked';
    expect(strict.trimEnd().split('\n').at(-1)).toBe(last);
    expect(ends(0, 'lint', 'partial.yaml', ...rule).stdout).not.toContain('--strict');
  });

  it('names a bad file with what to do, and judges the others', () => {
    refuses(4, /MBF2202: broken\.yaml line \d+: Not valid YAML/, 'broken.yaml');
    refuses(4, /MBF2004: empty\.yaml: is empty/, 'empty.yaml');
    refuses(4, /MBF2202: binary\.yaml: holds no setting/, 'binary.yaml');
    refuses(4, /MBF2202: strange\.yaml: holds no setting/, 'strange.yaml');
    refuses(4, /MBF2202: strange\.yaml: holds no variable/, 'sound.yaml', '--env', 'strange.yaml');
    const answer = ends(4, 'lint', 'bridge.yaml', 'empty.yaml', 'missing.yaml', '--json=full');
    expect(answer.stderr).toMatch(/MBF2004: empty\.yaml[\s\S]*MBF1003: missing\.yaml/);
    expect(linesOf(answer.json<LintResult>())).toContain('offload-pp 6');
    expect(ends(4, 'lint', 'empty.yaml', '--json=full').stdout).toBe('');
    // A log with a version and without settings gets the note too.
    write('silent.log', 'host1:12:34 [0] NCCL INFO NCCL version 2.18.1+cuda12.1\ntraining ...\n');
    const silent = ends(4, 'lint', 'silent.log');
    expect(silent.stdout).toBe('');
    expect(silent.stderr).toMatch(/MBF2202: silent\.log: holds no setting/);
    // Nothing is called that: neither a path nor a run.
    refuses(2, /MBF1003: missing\.yaml: no such file or directory$/m, 'missing.yaml');
    refuses(2, /MBF1001: lint what\?/);
  });

  it('warns of a key that is set twice', () => {
    write('twice.yaml', 'num_layers: 4\nhidden_size: 8\nbf16: true\nnum_layers: 6\n');
    refuses(0, /warning: twice\.yaml:4: "num_layers" is set twice/, 'twice.yaml', '--rule', 'offload-pp');
  });

  it('judges a run of the store as it judges its files', () => {
    const files = lint(0, 'sample', '--severity', 'error', '--rule', 'offload-pp');
    mbf('ingest', 'sample', '--run', 'night-shift', '--label', 'nightly');
    for (const operand of [['night-shift'], ['--run', 'night-shift'], ['label:nightly']]) {
      const run = lint(0, ...operand, '--severity', 'error', '--rule', 'offload-pp');
      expect(run).toMatchObject({ run: 'night-shift', subject: ['night-shift'], framework: files.framework });
      expect(run.settings).toBe(files.settings);
    }
    expect(lint(0, 'night-shift', '--env', 'environ.txt', '--rule', 'offload-pp').environment).toBe('whole');
    refuses(2, /MBF1001: a run is judged alone/, 'run:night-shift', 'bridge.yaml');
    refuses(2, /MBF1001: a run is judged alone/, '--run', 'night-shift', 'bridge.yaml');
    refuses(2, /MBF1002/, 'run:day-shift');
  });

  it('writes SARIF', () => {
    ends(1, 'lint', 'bridge.yaml', '--sarif', 'lint.sarif');
    const { stdout } = ends(1, 'lint', 'bridge.yaml', '--sarif', '-');
    expect(readFileSync(join(cwd, 'lint.sarif'), 'utf8')).toBe(stdout);
    const log = JSON.parse(stdout);
    expect(log).toMatchObject({ version: '2.1.0', $schema: expect.stringContaining('sarif-schema-2.1.0') });
    const [run] = log.runs;
    const rules: { id: string; shortDescription: { text: string }; help: { text: string } }[] = run.tool.driver.rules;
    expect(new Set(rules.map(({ id }) => id)).size).toBe(rules.length);
    for (const { shortDescription, help } of rules) expect(`${shortDescription.text}${help.text}`).not.toMatch(/[{}]/);
    for (const { ruleId, ruleIndex, level, message, locations } of run.results) {
      expect(rules[ruleIndex]!.id).toBe(ruleId);
      expect(['error', 'warning', 'note']).toContain(level);
      expect(message.text).not.toBe('');
      const { artifactLocation, region } = locations[0].physicalLocation;
      expect(artifactLocation.uri).toBe('bridge.yaml');
      expect(region.startLine).toBeGreaterThan(0);
    }
    const pp = run.results.find(({ ruleId }: { ruleId: string }) => ruleId === 'offload-pp');
    const regions = pp.relatedLocations.map(
      (one: { physicalLocation: { region: object } }) => one.physicalLocation.region,
    );
    expect(regions).toContainEqual({ startLine: 9 });
  });

  it('loads no database for files', () => {
    // The library's native part is a shared object that the process maps.
    const probe = write(
      'probe.mjs',
      `import { readFileSync } from 'node:fs';
process.on('exit', () => process.stderr.write(readFileSync('/proc/self/maps', 'utf8').includes('duckdb') ? 'LOADED' : 'NOT LOADED'));
process.argv.splice(1, 1);
await import(process.argv[1]);
`,
    );
    for (const operand of ['bridge.yaml', 'train.log.gz', 'conf', 'launch.sbatch'])
      expect(loadedBy(probe, ['lint', operand])).toBe('NOT LOADED');
    expect(loadedBy(probe, ['lint', 'night-shift', '--rule', 'offload-pp'])).toBe('LOADED');
  });

  function loadedBy(probe: string, args: readonly string[]): string {
    const { stderr } = cliOf(probe).run([cli.script, ...args], options);
    return /(?:NOT )?LOADED/.exec(stderr)?.[0] ?? stderr;
  }
});
