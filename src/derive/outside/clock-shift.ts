/** Aligns the printed wall clock of a host with UTC. */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import type { ClockShift } from '../../model/results/outside.js';
import { sentencesOf, type Unworded } from '../../model/statement.js';
import type { QueryRow } from '../../store/query-catalog.js';

const sentence = sentencesOf('outside');

const MINUTE_US = 60_000_000;
const QUARTER_US = threshold('outside.zone_step_us');
const MOST_RESIDUE_US = threshold('outside.most_residue_us');

export interface ShiftQuestion {
  readonly pairs: readonly QueryRow<'outside.clock_pairs'>[];
  /** Clocks of the files to compare. */
  readonly clocks: ReadonlySet<string>;
  /** From the user: UTC less the printed clock. */
  readonly given: number | undefined;
}

/** `+02:00`: the host's clock is two hours ahead of UTC, so two hours are subtracted. */
export function zoneText(shiftUs: number): string {
  const minutes = Math.round(-shiftUs / MINUTE_US);
  const sign = minutes < 0 ? '−' : '+';
  const absoluteMinutes = Math.abs(minutes);
  return `UTC${sign}${String(Math.floor(absoluteMinutes / 60)).padStart(2, '0')}:${String(absoluteMinutes % 60).padStart(2, '0')}`;
}

export type FoundShift = Unworded<ClockShift, 'origin'>;

export function clockShift({ pairs, clocks, given }: ShiftQuestion): FoundShift {
  const isNeeded = clocks.has('printed') && clocks.has('utc');
  if (given !== undefined)
    return { shift_us: given, is_needed: isNeeded, origin: sentence('given', { zone: zoneText(given) }) };
  if (!isNeeded) {
    return {
      shift_us: clocks.has('printed') ? null : 0,
      is_needed: false,
      origin: sentence('one_clock'),
    };
  }
  for (const { kind, pairs: count, shift_us: shift } of pairs) {
    const quarters = Math.round(shift / QUARTER_US) * QUARTER_US;
    if (Math.abs(shift - quarters) > MOST_RESIDUE_US) continue;
    return {
      shift_us: quarters,
      is_needed: true,
      origin: sentence('zone_by', { zone: zoneText(quarters), what: sentence('events', { count, kind }) }),
    };
  }
  return {
    shift_us: null,
    is_needed: true,
    origin: sentence('clocks_unknown'),
  };
}
