/** Aligns the printed wall clock of a host with UTC. */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import type { ClockShift } from '../../model/results/outside.js';
import type { QueryRow } from '../../store/query-catalog.js';

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

export function clockShift({ pairs, clocks, given }: ShiftQuestion): ClockShift {
  const isNeeded = clocks.has('printed') && clocks.has('utc');
  if (given !== undefined)
    return { shift_us: given, is_needed: isNeeded, origin: `given: printed clocks are ${zoneText(given)}` };
  if (!isNeeded) {
    return {
      shift_us: clocks.has('printed') ? null : 0,
      is_needed: false,
      origin: 'all times are of one kind of clock',
    };
  }
  for (const { kind, pairs: count, shift_us: shift } of pairs) {
    const quarters = Math.round(shift / QUARTER_US) * QUARTER_US;
    if (Math.abs(shift - quarters) > MOST_RESIDUE_US) continue;
    const what = count === 1 ? `one ${kind} that is` : `${count} ${kind}s that are`;
    return {
      shift_us: quarters,
      is_needed: true,
      origin: `printed clocks are ${zoneText(quarters)}, by ${what} in both`,
    };
  }
  return {
    shift_us: null,
    is_needed: true,
    origin:
      'some files print a clock without its zone and others carry UTC; no event is in both, so they are not compared (--utc-offset sets the zone)',
  };
}
