/** What a trainer other than Megatron calls its settings, and what its settings and frames show of the run. */

import type { ExplicitValue } from '../../derive/settings/facts.js';
import { isFullySharded, zeroStage } from '../../derive/settings/sharded.js';
import { asNumber } from '../../derive/settings/values.js';
import type { View } from '../../derive/settings/view.js';
import { splitsParameters, TRAINER_KEY, type TrainerData, trainerData } from '../../knowledge/trainers.js';
import type { Situation } from './situation.js';

type Run = Pick<Situation, 'facts' | 'frames' | 'isMegatron'>;

/** Without section and dashes: `--attn-impl`, `model.attn_impl` → `attn_impl`. */
const bareName = ({ raw_key: key }: Pick<ExplicitValue, 'raw_key'>): string =>
  key.replace(/^-+/, '').replaceAll('-', '_').split('.').at(-1)!;

/** Settings by the names that the run has for them. */
function written({ facts }: Pick<Run, 'facts'>): ReadonlyMap<string, ExplicitValue> {
  return new Map([...facts.settings.values()].map((explicit) => [bareName(explicit), explicit]));
}

/** By the command, by settings that only it has, or by frames; null of Megatron, and where nothing shows it. */
export function trainerOf(run: Run): TrainerData | null {
  if (run.isMegatron) return null;
  const program = run.facts.settings.get(TRAINER_KEY)?.value;
  const names = written(run);
  const isIt = ({ id, keys, frames }: TrainerData): boolean =>
    id === program ||
    keys.some((key) => names.has(key)) ||
    (frames !== undefined && new RegExp(frames).test(run.frames));
  return trainerData().find(isIt) ?? null;
}

/** Only adapters are trained. */
export function isLora(run: Run): boolean {
  const names = written(run);
  const textOf = (name: string): string => names.get(name)?.value ?? '';
  return (
    ['lora_rank', 'lora_r'].some((name) => (asNumber(textOf(name)) ?? 0) > 0) ||
    ['train_type', 'sft_type', 'tuner_type', 'finetuning_type', 'adapter', 'peft_type'].some((name) =>
      /lora/i.test(textOf(name)),
    ) ||
    ['use_peft', 'use_lora'].some((name) => /^true$/i.test(textOf(name))) ||
    /[/"]peft\//.test(run.frames)
  );
}

const IMAGES = /\bvisual\b|vision_tower|pixel_values|[_-]vl(?:\b|_)|llava|internvl|image_grid_thw/i;
const MODEL_NAMES = ['model', 'model_type', 'model_name_or_path', 'model_id_or_path', 'base_model'];

/** Images are among the tokens. */
export function hasImages(run: Run): boolean {
  const names = written(run);
  return (
    run.facts.env.has('MAX_PIXELS') ||
    ['image_max_pixels', 'max_pixels'].some((name) => names.has(name)) ||
    IMAGES.test([run.frames, ...MODEL_NAMES.map((name) => names.get(name)?.value ?? '')].join('\n'))
  );
}

const KERNEL = /^(?:use_)?flash_att(?:n|ention)$|^_?attn_impl(?:ementation)?$|^(?:eager|sdp)_attention$/;

/** The attention that the settings choose; null where they leave it to the trainer. */
export function attentionOf(run: Pick<Run, 'facts'>): 'flash' | 'sdpa' | 'eager' | null {
  for (const [name, { value }] of written(run)) {
    if (!KERNEL.test(name) || value === null) continue;
    const isOn = /^true$/i.test(value);
    if (name === 'eager_attention' || name === 'sdp_attention') {
      if (isOn) return name === 'eager_attention' ? 'eager' : 'sdpa';
    } else if (isOn || /flash|fa2|fused/i.test(value)) return 'flash';
    else if (/sdpa/i.test(value)) return 'sdpa';
    else if (/^(?:false|no|off|disabled|eager)$/i.test(value)) return 'eager';
  }
  return null;
}

/** DeepSpeed runs this job, by its settings or frames: it excludes FSDP. */
export function hasDeepSpeed({ frames }: Pick<Run, 'frames'>, view: View): boolean {
  const set = view.setting('deepspeed').value;
  return (
    (set !== null && !/^(?:False|None|)$/.test(set)) ||
    deepSpeedFile(view) !== null ||
    zeroStage(view) !== null ||
    /[/"]deepspeed\/runtime\//.test(frames)
  );
}

/** Parameters are split over the GPUs, by settings or frames. */
export function isShardedRun(run: Pick<Run, 'frames' | 'facts'>, view: View): boolean {
  const settings = new Map([...written(run)].map(([name, { value }]) => [name, value]));
  return isFullySharded(view) || splitsParameters(run.frames, settings);
}

function deepSpeedFile(view: View): string | null {
  const names = ['deepspeed', 'deepspeed_config'].map((key) => view.setting(key).value);
  return names.find((name) => name != null && /\.json$/.test(name)) ?? null;
}

/** Fixes that sharding of everything carries out. */
const SHARDS: ReadonlySet<string> = new Set(['shard-state', 'shard-weights', 'sharded-loading', 'shard-gradients']);

/** Lines to paste for a fix: settings as the trainer of the run has them. Empty where it has none for it. */
export function trainerLines(run: Run, view: View, fix: string): readonly string[] {
  if (run.isMegatron) return [];
  const trainer = trainerOf(run);
  if (SHARDS.has(fix)) return isShardedRun(run, view) ? [] : shardLines(run, view, trainer);
  if (trainer === null) return [];
  const line = liner(run, trainer);
  switch (fix) {
    case 'smaller-batch':
      return batchLines(run, view, trainer);
    case 'fused-kernel':
      return kernelLines(run, trainer);
    case 'cap-tokens':
      return hasImages(run) ? pixelLines(run, trainer) : lengthLines(run, trainer);
    case 'look-at-tensor':
      return hasImages(run)
        ? [...(attentionOf(run) === 'flash' ? [] : kernelLines(run, trainer)), ...pixelLines(run, trainer)]
        : [];
    default:
      return Object.entries(trainer.fixes[fix] ?? {}).map(([name, value]) => line(name, value));
  }
}

/** One setting, as the others of the run are written. */
function liner({ facts }: Pick<Run, 'facts'>, { form }: TrainerData): (name: string, value: string | null) => string {
  const written = [...facts.settings].filter(([key]) => key !== TRAINER_KEY).map(([, explicit]) => explicit);
  const shown = written.some(({ raw_key: key }) => key.startsWith('--'))
    ? 'flag'
    : form === 'flag' && written.some(({ origin }) => origin === 'config file')
      ? 'yaml'
      : form;
  return (name, value) => {
    if (shown === 'yaml') return `${name}: ${value ?? 'true'}`;
    if (shown === 'flag') return `--${name}${value === null ? '' : ` ${/\s/.test(value) ? `"${value}"` : value}`}`;
    const literal = value === null || value === 'true' ? 'True' : /^\d+$/.test(value) ? value : JSON.stringify(value);
    return `${name}=${literal},  # TrainingArguments`;
  };
}

function shardLines(run: Run, view: View, trainer: TrainerData | null): readonly string[] {
  const stage3 = '"zero_optimization": {"stage": 3}';
  const file = deepSpeedFile(view);
  if (file !== null) return [`# in ${file}`, stage3];
  const stage = view.setting('zero_stage').explicit;
  if (stage !== null && !/\.stage$/.test(stage.raw_key))
    return [stage.raw_key.startsWith('--') ? `${stage.raw_key} 3` : `${bareName(stage)}: 3`];
  const settings = Object.entries(trainer?.fixes['shard-state'] ?? {});
  if (hasDeepSpeed(run, view) && !settings.some(([name]) => /deepspeed/.test(name))) return [stage3];
  return trainer === null ? [] : settings.map(([name, value]) => liner(run, trainer)(name, value));
}

function batchLines(run: Run, view: View, trainer: TrainerData): readonly string[] {
  const line = liner(run, trainer);
  const { value, explicit } = view.setting('micro_batch_size');
  const size = asNumber(value) ?? 0;
  const name = explicit === null ? 'per_device_train_batch_size' : bareName(explicit);
  if (size < 2) return [];
  const smaller = size % 2 === 0 ? size / 2 : 1;
  const steps = view.setting('gradient_accumulation_steps');
  const known = asNumber(steps.value);
  const unset = steps.explicit === null && trainer.accumulates !== true ? 1 : null;
  return [
    line(name, String(smaller)),
    ...(known === null && unset === null
      ? []
      : [line('gradient_accumulation_steps', String(((known ?? unset)! * size) / smaller))]),
  ];
}

function kernelLines(run: Run, trainer: TrainerData): readonly string[] {
  const { attention = {}, lines = {} } = trainer;
  const names = written(run);
  const set = Object.entries(attention).find(([name]) => names.has(name));
  if (set === undefined && lines['fused-kernel'] !== undefined) return lines['fused-kernel'];
  const [name, value] = set ?? Object.entries(attention)[0] ?? [];
  return name === undefined ? [] : [liner(run, trainer)(name, value!)];
}

/** Half of what is set, or the value of the trainer's examples. */
function pixelLines(run: Run, trainer: TrainerData): readonly string[] {
  return Object.entries(trainer.pixels ?? {}).map(([name, usual]) => {
    const set = asNumber(run.facts.env.get(name)?.value ?? written(run).get(name)?.value ?? null);
    const value = String(set === null ? usual : Math.round(set / 2));
    return /^[A-Z]/.test(name) ? `export ${name}=${value}` : liner(run, trainer)(name, value);
  });
}

function lengthLines(run: Run, trainer: TrainerData): readonly string[] {
  const { length } = trainer;
  const set = length === undefined ? null : asNumber(written(run).get(length)?.value ?? null);
  return length === undefined || set === null || set < 2
    ? []
    : [liner(run, trainer)(length, String(Math.floor(set / 2)))];
}
