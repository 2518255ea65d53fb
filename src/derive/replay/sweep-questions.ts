/** Which settings are tried by default. */
import { type AllocatorSettings, readAllocConf } from '../../allocator/settings.js';
import { MbfError } from '../../model/errors.js';

export interface SettingQuestion {
  /** As written after `PYTORCH_CUDA_ALLOC_CONF=`; `recorded` for no change. */
  readonly label: string;
  readonly settings: AllocatorSettings;
  /** Of a `per_process_memory_fraction` in it. */
  readonly memoryFraction: number | null;
  readonly note: string | null;
}

export const RECORDED = 'recorded';

const NO_FRACTION = 'no effect without a memory fraction';

/** `text` on top of the recorded settings. Throws MBF1001 on what torch would refuse. */
export function questionOf(recorded: AllocatorSettings, text: string, hasFraction: boolean): SettingQuestion {
  const { settings, memoryFraction, problems } = readAllocConf(text, recorded);
  if (problems.length > 0) throw new MbfError('MBF1001', `--set ${text}: ${problems[0]!}`);
  const collects = settings.garbageCollectionThreshold > 0 && !hasFraction && memoryFraction === null;
  return { label: text, settings, memoryFraction, note: collects ? NO_FRACTION : null };
}

export function recordedQuestion(recorded: AllocatorSettings): SettingQuestion {
  return { label: RECORDED, settings: recorded, memoryFraction: null, note: null };
}

/**
 * The other kind of segments first, which costs nothing to try in a run; then the settings that the tuning guides and
 * torch's own hints name. Values below 20 MiB for max_split_size_mb are refused by torch, and with expandable segments
 * it no longer decides splits.
 */
export function sweepQuestions(recorded: AllocatorSettings, hasFraction: boolean): SettingQuestion[] {
  const texts = recorded.expandableSegments
    ? [
        'expandable_segments:False',
        'roundup_power2_divisions:4',
        'roundup_power2_divisions:8',
        'expandable_segments:False,max_split_size_mb:256',
        'garbage_collection_threshold:0.8',
      ]
    : [
        'expandable_segments:True',
        'max_split_size_mb:128',
        'max_split_size_mb:256',
        'max_split_size_mb:512',
        'roundup_power2_divisions:4',
        'roundup_power2_divisions:8',
        'garbage_collection_threshold:0.8',
        'max_split_size_mb:256,roundup_power2_divisions:8',
        'expandable_segments:True,roundup_power2_divisions:8',
      ];
  return texts.map((text) => questionOf(recorded, text, hasFraction));
}
