import type { BlockCode } from '../contract.js';
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

export const NEMO_RL_RESULTS: BlockCode = {
  id: 'nemo-rl.results',
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
    };
  },
};
