/** Dates with times, as monitors, schedulers and kubectl print them. */

/** Microseconds since 1970; without a zone as if it were UTC. */
export interface ClockTime {
  readonly us: number;
  /** It names its zone, so that {@link us} is UTC. */
  readonly isUtc: boolean;
}

/** `2026/11/20 10:11:12.123`, `2026-11-20T10:11:12Z`, `20261120 10:11:12`. */
const ISO = /^(\d{4})[-/]?(\d\d)[-/]?(\d\d)[T ]{1,3}(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))? ?(Z|UTC|[+-]\d\d:?\d\d)?$/;
/** `Thu Mar 28 17:53:27 2024`, as ctime and `date` print it; `date` puts a zone before the year. */
const TEXTUAL = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d) (?:([A-Z]{1,5}) )?(\d{4})$/;
/** `Mon, 20 Nov 2023 10:11:12 +0000`. */
const RFC1123 = /^[A-Z][a-z]{2}, (\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) ([+-]\d{4}|[A-Z]{1,5})$/;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Null unless it is a date with a time. */
export function parseClockTime(text: string): ClockTime | null {
  const iso = ISO.exec(text);
  if (iso !== null) {
    const [, year, month, day, hour, minute, second, fraction = '', zone] = iso;
    return made(
      [Number(year), Number(month), Number(day), Number(hour), Number(minute), Number(second)],
      Number(fraction.slice(0, 6).padEnd(6, '0')),
      zone,
    );
  }
  const textual = TEXTUAL.exec(text);
  if (textual !== null) {
    const [, month = '', day, hour, minute, second, zone, year] = textual;
    const at = [Number(year), MONTHS.indexOf(month) + 1, Number(day), Number(hour), Number(minute), Number(second)];
    // Three letters of a zone mean several.
    return made(at, 0, zone === 'UTC' || zone === 'GMT' ? 'Z' : undefined);
  }
  const rfc = RFC1123.exec(text);
  if (rfc === null) return null;
  const [, day, month = '', year, hour, minute, second, zone = ''] = rfc;
  const at = [Number(year), MONTHS.indexOf(month) + 1, Number(day), Number(hour), Number(minute), Number(second)];
  return made(at, 0, zone === 'UTC' || zone === 'GMT' ? 'Z' : /^[+-]/.test(zone) ? zone : undefined);
}

function made(parts: readonly number[], fractionUs: number, zone: string | undefined): ClockTime | null {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts;
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 || second > 60 || year < 1970)
    return null;
  const us = Date.UTC(year, month - 1, day, hour, minute, second) * 1000 + fractionUs;
  if (zone === undefined) return { us, isUtc: false };
  if (zone === 'Z' || zone === 'UTC') return { us, isUtc: true };
  const sign = zone.startsWith('-') ? -1 : 1;
  const digits = zone.replace(':', '');
  const minutes = Number(digits.slice(1, 3)) * 60 + Number(digits.slice(3, 5));
  return { us: us - sign * minutes * 60_000_000, isUtc: true };
}

/** Seconds since 1970 as microseconds; null for a time outside this century. */
export function epochUs(seconds: number): number | null {
  return Number.isFinite(seconds) && seconds > 946_684_800 && seconds < 4_102_444_800
    ? Math.round(seconds * 1e6)
    : null;
}
