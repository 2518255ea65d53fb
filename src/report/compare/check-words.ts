/** How the figures of a check, and the runs they are of, are written on every face of a comparison. */
import type { CompareCheck, ComparedRun, Preset } from '../../model/results/compare.js';
import { formatBytes } from '../../model/units.js';
import { counted, figure, grouped, shortText, stepTime, UNKNOWN } from '../text-pieces.js';

/** A number from here on is not a plausible size or time, and would be printed in full. */
const ABSURD = 1e15;

/** Long units such as `TFLOP/s/GPU` are printed once, after the name: they would widen two columns. */
const isLong = (unit: string): boolean => unit.length > 3 && unit !== 'bytes';

/** Bytes in binary units, the others in theirs as the source writes them; without a long unit (see {@link nameOf}). */
export function checkFigure(value: number | string | null, unit: string, most = 80): string {
  if (typeof value === 'string') return value === '' ? '(empty)' : shortText(value, most);
  if (value === null || !Number.isFinite(value)) return UNKNOWN;
  return shortText(measured(value, unit), most);
}

function measured(value: number, unit: string): string {
  const isAbsurd = Math.abs(value) >= ABSURD;
  if (unit === 'bytes')
    return isAbsurd && Math.abs(value) >= 2 ** 63 ? `${exponent(value)} B` : formatBytes(Math.round(value));
  if (isAbsurd) return exponent(value);
  if (unit === 'ms') return value < 0 ? `-${stepTime(-value)}` : stepTime(value);
  if (isLong(unit)) return Math.abs(value) >= 1 ? grouped(value, 2) : figure(value);
  return unit === '' || unit === '1' ? figure(value) : `${figure(value)} ${unit}`;
}

const exponent = (value: number): string => value.toExponential(2);

/** `throughput (TFLOP/s/GPU)`. */
export function nameOf({ name, unit }: Pick<CompareCheck, 'name' | 'unit'>): string {
  return isLong(unit) ? `${name} (${unit})` : name;
}

/** `+3.30 GiB`; nothing for words. */
export function changeOf({ delta, golden, current, unit }: CompareCheck): string {
  if (delta === null) return typeof golden === 'string' || typeof current === 'string' ? '' : UNKNOWN;
  const words = checkFigure(delta, unit);
  return delta > 0 && words !== UNKNOWN ? `+${words}` : words;
}

/** `+6.1 %`. Where that would print like the tolerance without being it, it gets more digits. */
export function relativeOf({ relative, tolerance }: CompareCheck): string {
  if (relative === null || !Number.isFinite(relative)) return '';
  const percent = 100 * relative;
  const limit = tolerance === null ? Number.NaN : 100 * tolerance;
  let decimals = Math.abs(percent) >= 1 || percent === 0 ? 1 : 2;
  const looksEqual = (): boolean => Math.abs(percent).toFixed(decimals) === limit.toFixed(decimals);
  while (decimals < 4 && Math.abs(percent) !== limit && looksEqual()) decimals += 1;
  const digits = Math.abs(percent) >= 1e6 ? exponent(percent) : grouped(percent, decimals);
  return `${percent > 0 ? '+' : ''}${digits} %`;
}

/** `2 %`; empty where nothing is judged. */
export function toleranceOf({ tolerance }: CompareCheck): string {
  if (tolerance === null || !Number.isFinite(tolerance)) return '';
  return `${figure(Number((100 * tolerance).toPrecision(4)))} %`;
}

/** `58.10 GiB against 54.80 GiB, +3.30 GiB, +6.0 %, tolerance 2 %`: the form outside tables. */
export function figuresOf(check: CompareCheck): string {
  const tolerance = toleranceOf(check);
  const unit = isLong(check.unit) ? ` ${shortText(check.unit, 20)}` : '';
  return [
    `${checkFigure(check.current, check.unit)} against ${checkFigure(check.golden, check.unit)}${unit}`,
    changeOf(check),
    relativeOf(check),
    tolerance === '' ? '' : `tolerance ${tolerance}`,
  ]
    .filter((text) => text !== '')
    .join(', ');
}

/** What the figures are of, and how sure the change is. */
export function remarkOf({ reason, noise, unit }: CompareCheck, hasNoise = true): string {
  const isKnown = hasNoise && noise !== null && noise !== 0 && Number.isFinite(noise);
  const known = isKnown ? `change known to ±${checkFigure(noise, unit)}` : '';
  return [reason === null ? '' : shortText(reason, 300), known].filter((part) => part !== '').join('; ');
}

export const isOdd = ({ status }: CompareCheck): boolean => status !== 'pass' && status !== 'info';

/** What makes the verdict, or would have made it had both sides such a figure. */
export const isOfGate = ({ gate, status, why }: CompareCheck): boolean =>
  gate || (status === 'skipped' && why?.code !== 'ended_early');

/** Also what `--warn` of a gate names, or the kind of check it is of. */
export function isListed(check: CompareCheck, warned: readonly string[] = []): boolean {
  return isOfGate(check) || warned.some((metric) => check.name === metric || check.name.startsWith(`${metric}:`));
}

/** Whether it makes the verdict a regression. Upstream's checks have two sides, ours one. */
export function failsGate(check: CompareCheck, preset: Preset): boolean {
  return check.gate && (check.status === 'regression' || (check.status === 'improvement' && preset !== 'default'));
}

/** Seven digits of a hash; anything else as it is. */
export const shortCommit = (commit: string): string => (/^[0-9a-f]{8,64}$/i.test(commit) ? commit.slice(0, 7) : commit);

/** `golden nightly (commit abc1234, 3 runs)`. */
export function runWords({ name, commit, origin, runs }: ComparedRun, isGolden: boolean): string {
  const facts = [
    ...(commit === null ? [] : [`commit ${shortCommit(commit)}`]),
    ...(origin === 'golden' || runs > 1 ? [counted(runs, 'run')] : []),
  ];
  const kind = isGolden ? `${origin} ` : '';
  return `${kind}${name}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`;
}
