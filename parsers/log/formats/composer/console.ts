import type { IterationFinding, MemoryFinding } from '../../../../src/model/log-rows.js';
import type { BlockCode } from '../contract.js';
import { pythonNumber } from '../field-list.js';
import { countFinding } from '../torch/stat-metric.js';
import { GB, halfDigit, memoryFigure } from '../units.js';

const LINE = /^\s{0,8}(?:Train|Eval) (?<name>[\w][\w./ -]{0,120}): (?<text>[^\s]{1,60})\s{0,4}$/;
/** The monitor rounds to five significant digits, the logger then prints four decimals. */
const SIGNIFICANT = 5;

/** `memory/…` in GB of 10^9 bytes; null for what is none of the monitor's names. */
function memoryOf(name: string, text: string, metrics: ReadonlyMap<string, string>): MemoryFinding | null {
  const value = Number(text);
  if (!Number.isFinite(value)) return null;
  if (name === 'alloc_retries') return countFinding('alloc_retries', value);
  const metric = metrics.get(name);
  if (metric === undefined) return null;
  const rounded = value === 0 ? 0 : 0.5 * 10 ** (Math.floor(Math.log10(value)) + 1 - SIGNIFICANT);
  return memoryFigure(metric, text, 'GB', GB, {}, Math.max(rounded, halfDigit(text)));
}

export const COMPOSER_CONSOLE: BlockCode = {
  id: 'composer.console',
  begin(match, emit, { metrics }) {
    const { epoch, batch, batches } = match.groups ?? {};
    const otherValues: { name: string; value: number | null; text: string }[] = [];
    const memory: MemoryFinding[] = [];
    let training = false;
    let timeBatch: number | undefined;
    let loss: number | undefined;
    let stepMs: number | undefined;
    return {
      line(text) {
        if (/^\s{0,8}Eval /.test(text)) return training ? 'over' : 'taken';
        const { name = '', text: printed = '' } = LINE.exec(text)?.groups ?? {};
        if (name === '') return text.includes('[batch=') || text.includes('[Eval ') ? 'over' : 'foreign';
        training = true;
        const value = pythonNumber(printed);
        const figure = name.startsWith('memory/') ? memoryOf(name.slice('memory/'.length), printed, metrics!) : null;
        if (figure !== null) memory.push(figure);
        else if (name === 'time/batch' && value !== null) timeBatch = value;
        else if (name === 'loss/train/total' && value !== null) loss = value;
        else {
          // Over the last steps, as many as the SpeedMonitor's window.
          if (name === 'throughput/batches_per_sec' && value !== null && value > 0)
            stepMs = Number((1000 / value).toPrecision(4));
          otherValues.push({ name, value, text: printed });
        }
        return 'taken';
      },
      end() {
        if (!training) return;
        const before = epoch === undefined || batches === undefined ? 0 : (Number(epoch) - 1) * Number(batches);
        // `time/batch` is taken before the batch is counted.
        const counted = batch === undefined ? (timeBatch ?? -1) + 1 : before + Number(batch);
        const iteration = epoch !== undefined && batches === undefined ? (timeBatch ?? -1) + 1 : counted;
        if (iteration > 0) {
          const row: IterationFinding = {
            row: 'iteration',
            iteration,
            target: epoch === undefined && batches !== undefined ? Number(batches) : null,
            ...(loss === undefined ? {} : { loss }),
            ...(stepMs === undefined ? {} : { stepMs }),
            others: otherValues,
          };
          emit(row);
        }
        const where = iteration > 0 ? { iteration } : {};
        for (const figure of memory) emit({ ...figure, ...where, moment: 'after batch' });
      },
    };
  },
};
