import type { BlockCode } from '../contract.js';
import { figureFinding } from '../system/findings.js';

/** Decimal, of figures and of FLOP/s alike. */
const SCALES: Readonly<Record<string, number>> = { '': 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, B: 1e9, T: 1e12, P: 1e15 };
const LINE =
  /^\s{0,8}(?<label>[A-Za-z][\w =/*(),.+-]{2,100}?): {1,80}(?<value>\d{1,15}(?:\.\d{1,6})?) ?(?<unit>[A-Za-z]{0,6})\s{0,16}$/;

const SECONDS: Readonly<Record<string, number>> = { s: 1, ms: 1e-3, us: 1e-6 };

/**
 * `fwd FLOPS per GPU = fwd flops per GPU / fwd latency` → `fwd flop/s per gpu`: capitals distinguish rates from counts.
 */
function labelKey(label: string): string {
  const [name = ''] = label.split(/ = |\(/);
  return name.replace('FLOPS', 'flop/s').toLowerCase().replace('per device', 'per gpu').trim();
}

export const DEEPSPEED_FLOPS_PROFILE: BlockCode = {
  id: 'deepspeed.flops-profile',
  begin(_match, emit, { names }) {
    let step: number | undefined;
    return {
      line(text) {
        const summary = /Profile Summary at step (\d{1,9})/.exec(text);
        if (summary !== null) {
          step = Number(summary[1]);
          return 'taken';
        }
        if (/-{3,80} Aggregated Profile per (?:GPU|device) -{3,80}/.test(text)) return 'last';
        const { label = '', value = '', unit = '' } = LINE.exec(text)?.groups ?? {};
        const known = names!.get(labelKey(label));
        if (label === '' || known === undefined) return 'foreign';
        const [name = '', nameUnit = ''] = known.split(' ');
        const seconds = SECONDS[unit];
        const scale = nameUnit === 's' ? seconds : SCALES[unit.replace(/(?:MACs|FLOPS)$/, '')];
        if (scale === undefined) return 'taken';
        const number = Number((Number(value) * scale).toPrecision(12));
        const where = step === undefined ? {} : { iteration: step };
        emit({ ...figureFinding(name, number, nameUnit, where), ...(unit === '' ? {} : { text: `${value} ${unit}` }) });
        return 'taken';
      },
    };
  },
};
