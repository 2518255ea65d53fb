import type { BlockFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';

const BULLET = '\u2022';
const SECONDS = /^[\s\u2022-]{1,8}([\w /.()-]{1,80}): (-?\d{1,9}\.\d{1,6})s(?: \((\d{1,4}\.\d)%\))?$/;
const FIGURE =
  /^[\s\u2022-]{1,8}([\w /.()-]{1,80}): (-?\d{1,15}(?:\.\d{1,8})?(?:e[+-]?\d{1,3})?)(%| TFLOPS| steps)?(?: \((\d{1,9}\.\d{1,4}) TFLOPS per rank\))?$/;
/** Headings of the parts of the block, with any leading symbol. */
const HEADING =
  /^\s{0,4}[^\w\s]{1,4}\ufe0f?\s{1,4}(?:Timing|Performance Metrics|Training Results|Validation Results|Throughputs?)\b/;
const nameOf = (text: string): string =>
  text
    .trim()
    .replaceAll(/[^A-Za-z0-9]{1,8}/g, '_')
    .replace(/_$/, '')
    .toLowerCase();

export const NEMO_RL_RESULTS: BlockFormat = {
  form: 'block',
  id: 'nemo-rl.results',
  title: 'Results and times of a step',
  producer: 'NeMo RL',
  versions: '0.1 and later',
  source:
    'nemo_rl/algorithms/grpo.py, grpo_train; nemo_rl/algorithms/utils.py, print_performance_metrics; sft.py, dpo.py',
  anchors: [' Training Results:', ' Validation Results:'],
  fields: {
    results: '`• Loss: 0.0123`, `• Avg Reward: 0.5`, `• Training FLOPS: 1200.5 TFLOPS (150.06 TFLOPS per rank)`',
    times: '`• Total step time: 64.74s`, `• policy_training: 20.98s (32.4%)`: s, of the driver',
  },
  opens: /^[^\w\n]{1,12}(?<kind>Training|Validation) Results:\s{0,4}$/,
  mostForeign: 3,
  mostLines: 120,
  begin(match, emit) {
    const root = match.groups?.['kind'] === 'Validation' ? 'nemo_rl.validation' : 'nemo_rl';
    return {
      line(text) {
        if (text.trim() === '' || HEADING.test(text)) return 'taken';
        if (!/^[\s]{0,8}[\u2022-]/.test(text)) return 'foreign';
        const seconds = SECONDS.exec(text);
        if (seconds !== null) {
          emit(figureFinding(`${root}.time.${nameOf(seconds[1]!)}`, Number(seconds[2]), 's'));
          return 'taken';
        }
        const figure = FIGURE.exec(text);
        if (figure === null) return text.includes(BULLET) ? 'taken' : 'foreign';
        const [, name = '', value, unit, perRank] = figure;
        emit(figureFinding(`${root}.${nameOf(name)}`, Number(value), unit?.trim() ?? null));
        if (perRank !== undefined)
          emit(figureFinding(`${root}.${nameOf(name)}_per_rank`, Number(perRank), 'TFLOP/s/GPU'));
        return 'taken';
      },
      end() {},
    };
  },
};
