/**
 * Settings among the text summaries. Megatron-LM writes every argument as a text of its own, named like the argument
 * (`megatron/training/initialize.py`, `write_args_to_tensorboard`); Hugging Face writes its arguments and the model's
 * configuration as two JSON documents, `args` and `model_config` (`integrations/integration_utils.py`,
 * `TensorBoardCallback`). Other texts are samples of a model's output and are not kept.
 */
import { configFinding, isKnownConfigKey, normaliseConfigValue } from '../../src/knowledge/config-keys.js';
import { readLiteral } from '../../src/knowledge/literal.js';
import type { ConfigFinding, EnvFinding } from '../../src/model/log-rows.js';
import { flattenSettings, settingFinding } from '../../src/text/flatten-settings.js';

export interface TextPlace {
  readonly ordinal: number;
  readonly offset: number;
  readonly timeUs: number | null;
}

type Emit = (finding: ConfigFinding | EnvFinding, place: TextPlace) => void;

/** torch and tensorboardX add this to the name. */
const SUFFIX = '/text_summary';
const ARGUMENT = /^[A-Za-z_][A-Za-z0-9_]{0,99}$/;
const DOCUMENTS = new Set(['args', 'model_config']);
/** So many settings that the dictionary knows make a file one that holds arguments. */
const ENOUGH_KNOWN = 3;
const POSITION = ['rank', 'local_rank', 'world_size'];
const MOST_WAITING = 4096;
const MOST_VALUE_CHARS = 4096;
const MOST_DOCUMENT_CHARS = 1024 * 1024;

export class TextSettings {
  /** Texts of which nothing was kept. */
  passed = 0;
  private readonly emit: Emit;
  /** Ranks and sizes that torchrun passed to the process; see {@link writer}. */
  private readonly position = new Map<string, number>();
  private readonly known = new Set<string>();
  /** Until enough names are known to be settings; null from then on. */
  private waiting: { readonly name: string; readonly text: string; readonly place: TextPlace }[] | null = [];

  constructor(emit: Emit) {
    this.emit = emit;
  }

  add(tag: string, text: string, place: TextPlace): void {
    const name = tag.endsWith(SUFFIX) ? tag.slice(0, -SUFFIX.length) : tag;
    if (DOCUMENTS.has(name) && /^\s{0,100}\{/.test(text) && text.length <= MOST_DOCUMENT_CHARS) {
      flattenSettings(readLiteral(text), (path, value) => {
        const finding = settingFinding(path, value, 'run file');
        if (finding !== null) this.emit(finding, place);
      });
      return;
    }
    if (!ARGUMENT.test(name) || text.length > MOST_VALUE_CHARS || text.includes('\n')) {
      this.passed += 1;
      return;
    }
    if (this.waiting === null) {
      this.give(name, text, place);
      return;
    }
    if (this.waiting.length < MOST_WAITING) this.waiting.push({ name, text, place });
    else this.passed += 1;
    if (isKnownConfigKey(name)) this.known.add(name);
    if (this.known.size >= ENOUGH_KNOWN) this.release(() => true);
  }

  /**
   * Rank that wrote the file, if its arguments contain `rank`, `local_rank` and `world_size` together, as Megatron-LM's
   * do. A `rank` alone may be a LoRA's.
   */
  get writer(): number | null {
    const [rank, local, world] = POSITION.map((name) => this.position.get(name));
    return rank === undefined || local === undefined || world === undefined || rank >= world ? null : rank;
  }

  /** After the last text: of a file without arguments, what is known anyway. */
  end(): void {
    this.release(isKnownConfigKey);
  }

  private release(keeps: (name: string) => boolean): void {
    for (const { name, text, place } of this.waiting ?? []) {
      if (keeps(name)) this.give(name, text, place);
      else this.passed += 1;
    }
    this.waiting = null;
  }

  private give(name: string, text: string, place: TextPlace): void {
    if (POSITION.includes(name) && /^\d{1,7}$/.test(text)) this.position.set(name, Number(text));
    this.emit(configFinding(name, normaliseConfigValue(text), 'run file'), place);
  }
}
