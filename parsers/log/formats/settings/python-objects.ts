import { configFinding, normaliseConfigValue } from '../../../../src/knowledge/config-keys.js';
import { type Literal, literalText, readLiteralAt } from '../../../../src/model/literal.js';
import { flattenSettings } from '../../../../src/text/flatten-settings.js';
import type { BlockFormat, Emit, LineFormat } from '../contract.js';
import { BracketCollector, emitTree } from './emit-settings.js';

/** Values that only source code has: a traceback shows the call, not the object. */
const CODE = /^(?:args|self|cfg|config|kwargs|opt|hparams|os)\b/;

function isCode(entries: Extract<Literal, { kind: 'call' }>['entries']): boolean {
  return entries.some((entry) => CODE.test(literalText(entry.value) ?? ''));
}

function readObjects(text: string, emit: Emit): void {
  const { value } = readLiteralAt(text, 0);
  if (value.kind !== 'call') return;
  const fields = value.entries.filter((entry) => /^[A-Za-z_]\w{0,120}$/.test(entry.key));
  if (fields.length < 3 || isCode(fields)) return;
  const name = value.name.slice(value.name.lastIndexOf('.') + 1);
  for (const field of fields) {
    flattenSettings(field.value, (path, text1) => emit(configFinding(path.join('.'), text1, 'log dump')), [
      name,
      field.key,
    ]);
  }
}

/** Objects of configuration as `repr` prints a dataclass: what the code was really given. */
export const configObject: LineFormat = {
  form: 'line',
  id: 'python.config-object',
  title: 'repr of a configuration object',
  producer: 'Megatron-Core',
  versions: 'all; also Hugging Face TrainingArguments, torch and NeMo configurations',
  source:
    'megatron/core/distributed/distributed_data_parallel.py, megatron/core/optimizer/__init__.py (log_single_rank); transformers/training_args.py __str__',
  anchors: [
    'DistributedDataParallelConfig(',
    'OptimizerConfig(',
    'TransformerConfig(',
    'TrainingArguments(',
    'ModelProvider(',
    'ModelParallelConfig(',
    'CommOverlapConfig(',
    'MixedPrecisionConfig(',
    'ParallelConfig(',
  ],
  fields: { object: 'the text from the class name on' },
  pattern:
    /(?<![\w.])(?<object>\w{0,60}?(?:DataParallelConfig|OptimizerConfig|TransformerConfig|TrainingArguments|ModelProvider\w{0,20}|ModelParallelConfig|OverlapConfig|PrecisionConfig|ParallelConfig)\(\w{1,80}=[\s\S]{1,8192})/g,
  read: ({ object }, emit) => readObjects(object!, emit),
};

/** The same with one field per line, as Hugging Face prints it since 4.11. */
export const trainingArguments: BlockFormat = {
  form: 'block',
  id: 'transformers.training-arguments',
  title: 'TrainingArguments, one per line',
  producer: 'Hugging Face Transformers',
  versions: '4.11 to main',
  source: 'src/transformers/training_args.py TrainingArguments.__str__',
  anchors: ['TrainingArguments('],
  fields: { key: 'a setting, as printed', value: 'its value, in one text form' },
  opens: /TrainingArguments\($/,
  mostForeign: 32,
  mostLines: 600,
  begin: (_match, emit) => ({
    line(text) {
      if (/^\s{0,8}\)\s{0,8}$/.test(text)) return 'last';
      const field = /^\s{0,8}([A-Za-z_]\w{0,80})=([\s\S]{0,8000}?),?\s{0,8}$/.exec(text);
      if (field === null) return 'foreign';
      emit(configFinding(`TrainingArguments.${field[1]}`, normaliseConfigValue(field[2]!), 'log dump'));
      return 'taken';
    },
    end() {},
  }),
};

/** The model's configuration file as it was read: overrides come later, so that it ranks last. */
export const modelConfig: BlockFormat = {
  form: 'block',
  id: 'transformers.model-config',
  title: 'model configuration as read',
  producer: 'Hugging Face Transformers',
  versions: '3.0 to main',
  source: 'src/transformers/configuration_utils.py PretrainedConfig.from_dict, __repr__',
  anchors: ['Model config '],
  fields: { key: 'a setting, as printed', value: 'its value, in one text form' },
  opens: /\bModel config (\w{1,80}) (\{)$/,
  mostForeign: 64,
  mostLines: 2000,
  begin(match, emit) {
    const value = new BracketCollector();
    const path = [match[1]!];
    value.add('{');
    let isDone = false;
    const finish = (): void => {
      if (!isDone) emitTree(value.tree(), path, 'config file', emit);
      isDone = true;
    };
    return {
      line(text) {
        if (!/^\s{0,80}(?:"|[\]}[{]|-?\d|null|true|false)/.test(text)) return 'foreign';
        if (!value.add(text)) return 'taken';
        finish();
        return 'last';
      },
      end: finish,
    };
  },
};
