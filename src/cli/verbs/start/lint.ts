/**
 * `mbforensics lint`: is this configuration going to work? Files are judged without a store, so that it can be asked
 * before every launch; what only a run of a store, a log or SARIF needs is loaded with the first of them.
 */
import { existsSync } from 'node:fs';
import { lint } from '../../../derive/lint/lint.js';
import type { LintRule } from '../../../derive/lint/rule.js';
import { lintRules } from '../../../derive/lint/rules.js';
import { changedFacts } from '../../../derive/settings/changed-facts.js';
import { deviceOf } from '../../../derive/settings/devices.js';
import { FRAMEWORKS, type Framework, type RawFacts } from '../../../derive/settings/facts.js';
import {
  type Asked,
  askedGpu,
  askedVersions,
  asksOfRun,
  factsOfSettings,
  withEnvironment,
} from '../../../derive/settings/facts-of-settings.js';
import { describeLint } from '../../../findings/lint/describe-lint.js';
import { readSettingsOf, type SettingsInput } from '../../../ingest/finish/read-settings.js';
import { configFinding, normaliseConfigValue } from '../../../knowledge/config-keys.js';
import { remedyOf } from '../../../knowledge/errors.js';
import { MbfError } from '../../../model/errors.js';
import { escapeControls } from '../../../model/escape-controls.js';
import type { AdviceChange } from '../../../model/results/advise.js';
import { LINT_SEVERITIES, type LintResult, type LintSeverity } from '../../../model/results/lint.js';
import { VERSION_NAMES, type VersionName } from '../../../model/results/log.js';
import type { SettingsRead } from '../../../model/settings-read.js';
import { toJson } from '../../../report/json.js';
import { lintDocument } from '../../../report/start/lint-document.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { choice, flag, misuse, operand, option, pair, repeated, wrong } from '../../options.js';
import type { Session } from '../../session.js';
import { readSmallFile } from '../../text-input.js';

/** Some of those that `devices.ts` knows. */
const GPUS = ['h100-80gb', 'h200', 'b200', 'gb200', 'b300', 'a100-40gb', 'l40s'] as const;

export const verb = defineVerb({
  name: 'lint',
  operands: {
    operands: operand(
      '[config...]',
      'configurations, launch scripts, logs or directories of them, - for standard input; or one run',
    ),
  },
  options: {
    run: option('--run <run>', 'the settings in force in a run of the store'),
    env: repeated('--env <file>', 'an environment: `env`, a copy of /proc/PID/environ, a script; may be repeated'),
    framework: option(
      '--framework <name[@version]>',
      `framework that gives the defaults: ${FRAMEWORKS.join(', ')}; e.g. megatron-bridge@0.6`,
      frameworkOption,
    ),
    gpu: option('--gpu <name>', `the device it will run on, e.g. ${GPUS.slice(0, 3).join(', ')}`, gpuOption),
    versions: repeated('--version-of <package=version>', 'e.g. torch=2.11; may be repeated', versionOption),
    set: repeated(
      '--set <key=value>',
      'as if it were set: a setting in any spelling, or a variable; may be repeated',
      pair('KEY=VALUE'),
    ),
    rule: repeated('--rule <id>', 'try this rule only; may be repeated', ruleOption),
    severity: choice('--severity <severity>', 'rules of this severity or worse', LINT_SEVERITIES, 'note'),
    full: flag('--full', 'all undecided rules with what they need, and all settings that no rule checks'),
    strict: flag('--strict', 'exit 3 if an error could not be ruled out'),
    sarif: option('--sarif <file>', 'also write it as SARIF; - is standard output'),
  },
  async ask({ operands, run: named, env, framework, gpu, versions, set, rule, severity }, session) {
    const asked = { framework, gpu, versions: Object.fromEntries(versions) };
    const question: Question = { asked, env, change: changeOf(set), rules: rulesOf(rule, severity) };
    const run = runOf(operands, named);
    const judged = run === undefined ? await judgeFiles(operands, question) : await judgeRun(run, question, session);
    const { err } = session.context;
    for (const { file, line, text } of judged.warnings)
      err(oneLine(`mbforensics: warning: ${file}${line === null ? '' : `:${line}`}: ${text}`));
    for (const error of judged.faults)
      err(`mbforensics: error ${error.code}: ${error.describe()}\n  ${remedyOf(error.code)}\n`);
    session.hasFailed = judged.faults.length > 0;
    return judged.result === undefined ? undefined : { result: judged.result, rules: question.rules };
  },
  full: ({ result }) => result,
  document: ({ result }, { strict, full }) => lintDocument(result, { isStrict: strict, isFull: full }),
  reports: {
    async sarif({ result, rules }) {
      const { lintSarif } = await import('../../../report/start/lint-sarif.js');
      return toJson(lintSarif(result, rules));
    },
  },
  exitCode({ result: { findings, unknown } }, { strict }) {
    if (findings.some(({ severity }) => severity === 'error')) return EXIT.finding;
    return strict && unknown.some(({ severity }) => severity === 'error') ? EXIT.undecided : EXIT.done;
  },
});

interface Question {
  readonly asked: Asked;
  /** Files of environments. */
  readonly env: readonly string[];
  readonly change: AdviceChange;
  readonly rules: readonly LintRule[];
}

interface Judged {
  /** Undefined if nothing could be read. */
  readonly result: LintResult | undefined;
  readonly faults: readonly MbfError[];
  readonly warnings: SettingsRead['warnings'];
}

async function judgeFiles(operands: readonly string[], { asked, env, change, rules }: Question): Promise<Judged> {
  const inputs: SettingsInput[] = [];
  const paths = operands.map((operand) => operand.replace(/^path:/, ''));
  for (const path of paths) inputs.push(await inputOf(path, 'config'));
  for (const path of env) inputs.push(await inputOf(path, 'env'));
  const read = await readSettingsOf(inputs);
  const { faults, warnings } = read;
  // An environment alone is not a configuration.
  if (read.settings.length === 0 && (faults.length > 0 || read.variables.length === 0)) {
    // A log may be read without a fault and yet lack judged settings.
    const silent = new MbfError('MBF2202', 'holds no setting of a training job', { file: operands.join(', ') });
    return { result: undefined, faults: faults.length > 0 ? faults : [silent], warnings };
  }
  const facts = changedFacts(await factsOfSettings(read, asked), change, '--set');
  return { result: judge(facts, { subject: read.files, run: null }, rules), faults, warnings };
}

async function judgeRun(operand: string, { asked, env, change, rules }: Question, session: Session): Promise<Judged> {
  const read = await readSettingsOf(env.map((path) => ({ path, as: 'env' })));
  const { factsOfRun } = await import('../../../derive/settings/facts-of-run.js');
  const target = await session.target(operand);
  const gpu = askedGpu(asked);
  const runFacts = await factsOfRun(target.store, target.runId, {
    framework: asked.framework,
    ...(gpu === undefined ? {} : { gpu }),
  });
  const { trained, ...others } = { ...runFacts, versions: { ...runFacts.versions, ...askedVersions(asked) } };
  const ofRun = asksOfRun(asked) && trained !== undefined ? { ...others, trained } : others;
  const facts = changedFacts(withEnvironment(ofRun, read), change, '--set');
  const faults = [
    ...read.faults,
    ...target.failed.map(({ path, error }) => new MbfError(error.code as MbfError['code'], error.text, { file: path })),
  ];
  if (facts.settings.size === 0) throw new MbfError('MBF2202', `the run ${target.run} holds no setting`);
  return { result: judge(facts, { subject: [target.run], run: target.run }, rules), faults, warnings: read.warnings };
}

function judge(facts: RawFacts, subject: Pick<LintResult, 'subject' | 'run'>, rules: readonly LintRule[]): LintResult {
  return describeLint(facts, { ...subject, rules: rules.length }, lint(facts, rules));
}

/** The selected run, if any: forced, or a single operand that is not a path. */
function runOf(operands: readonly string[], run: string | undefined): string | undefined {
  if (run !== undefined) {
    if (operands.length > 0) throw misuse('a run is judged alone: --run and files exclude each other');
    return /^(?:run|snapshot|commit|label|path):/.test(run) ? run : `run:${run}`;
  }
  if (operands.length === 0) throw misuse('lint what? a configuration, a directory, or a run of the store');
  const forced = operands.find((operand) => /^(?:run|snapshot|commit|label):/.test(operand));
  const [first] = operands;
  const named = forced ?? (operands.length === 1 && !isPath(first!) ? first : undefined);
  if (named !== undefined && operands.length > 1)
    throw misuse(`a run is judged alone: ${JSON.stringify(named)} and files exclude each other`);
  return named;
}

const isPath = (operand: string): boolean => operand === '-' || operand.startsWith('path:') || existsSync(operand);

async function inputOf(path: string, as: SettingsInput['as']): Promise<SettingsInput> {
  return path === '-' ? { path: '<stdin>', as, bytes: await readSmallFile('-') } : { path, as };
}

function gpuOption(text: string): string {
  if (deviceOf(text) !== null) return text;
  throw misuse(`unknown --gpu ${JSON.stringify(text)}; expected one such as ${GPUS.join(', ')}`);
}

/** A framework goes by the name of its package too. */
const FRAMEWORK_ALIASES: Readonly<Record<string, Framework>> = {
  'megatron-core': 'megatron-lm',
  megatron: 'megatron-lm',
  bridge: 'megatron-bridge',
};

function frameworkOption(text: string): NonNullable<Asked['framework']> {
  const [, word = '', version] = /^([^@]*)(?:@(.*))?$/s.exec(text) ?? [];
  const plain = word.toLowerCase().replaceAll('_', '-');
  const name = FRAMEWORKS.find((one) => one === plain) ?? FRAMEWORK_ALIASES[plain];
  if (name === undefined) throw wrong('--framework', text, `one of ${FRAMEWORKS.join(', ')}`);
  if (version !== undefined && !isVersion(version))
    throw misuse(`--framework ${JSON.stringify(text)}: no version after @, e.g. ${name}@0.6`);
  return { name, version: version ?? null };
}

function versionOption(text: string, option: string): readonly [VersionName, string] {
  const expected = `PACKAGE=VERSION; packages: ${VERSION_NAMES.join(', ')}`;
  const [word, value] = pair(expected)(text, option);
  const name = VERSION_NAMES.find((one) => one === word.toLowerCase().replaceAll('-', '_'));
  const version = value.trim();
  if (name === undefined || !isVersion(version)) throw wrong(option, text, expected);
  return [name, version];
}

const isVersion = (text: string): boolean => /^v?\d+(?:\.\d+)*[\w.+-]{0,60}$/.test(text);

/** What `--set` sets; variables are written in capitals. */
function changeOf(set: readonly (readonly [name: string, value: string])[]): AdviceChange {
  const settings: Record<string, string | null> = {};
  const env: Record<string, string | null> = {};
  for (const [name, value] of set) {
    if (/^[A-Z][A-Z0-9_]*$/.test(name)) env[name] = value === '' ? null : value;
    else {
      const { key, value: kept } = configFinding(name, normaliseConfigValue(value), 'command line');
      settings[key] = kept;
    }
  }
  return { settings, env };
}

/** Those asked for, or all, that are as severe as asked. */
function rulesOf(ids: readonly string[], severity: LintSeverity): readonly LintRule[] {
  const least = LINT_SEVERITIES.indexOf(severity);
  return lintRules().filter(
    (one) => (ids.length === 0 || ids.includes(one.id)) && LINT_SEVERITIES.indexOf(one.severity) <= least,
  );
}

function ruleOption(id: string): string {
  if (lintRules().some((one) => one.id === id)) return id;
  throw misuse(`unknown --rule ${JSON.stringify(id)}${alike(id)}`);
}

/** Rules that begin like it: ids have their topic first. */
function alike(id: string): string {
  const topic = id.split('-')[0] ?? '';
  const some = lintRules()
    .filter((one) => topic !== '' && one.id.startsWith(topic))
    .map((one) => one.id);
  return some.length === 0 ? '' : `; expected one such as ${some.slice(0, 8).join(', ')}`;
}

/** Names of keys may contain anything. */
const oneLine = (text: string): string => `${escapeControls(text)}\n`;
