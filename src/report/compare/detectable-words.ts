/** Which changes the golden runs at hand can distinguish from noise, and which six of them could. */
import type { CompareCheck, GoldenEvidence } from '../../model/results/compare.js';
import { counted } from '../text-pieces.js';

const REPEATS = 6;
/** A gain of less is not worth six runs. */
const LEAST_GAIN = 0.001;

/** Null where no gate has a figure. */
export function detectableWords(checks: readonly CompareCheck[], { runs, steps }: GoldenEvidence): string | null {
  const known = checks.filter(({ name, gate, detectable }) => gate && detectable !== null && !name.includes(':'));
  if (known.length === 0) return null;
  const listed = known.map(({ name, detectable }) => `${name.replaceAll('_', ' ')} below ${percent(detectable!)}`);
  const ofSteps = steps === null ? '' : ` of ${counted(steps, 'steady step')}`;
  const gains = known.filter(
    ({ detectable, detectable_repeated: repeated }) => repeated !== null && detectable! - repeated > LEAST_GAIN,
  );
  const more = gains.map(
    ({ name, detectable_repeated: repeated }) => `${name.replaceAll('_', ' ')} ${percent(repeated!)}`,
  );
  const with6 = gains.length === 0 ? '' : `; with ${REPEATS}: ${more.join(', ')} (golden add)`;
  return `with ${counted(runs, 'golden run')}${ofSteps}, changes of ${listed.join(' and of ')} cannot be distinguished from noise${with6}`;
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
