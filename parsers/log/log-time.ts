const ISO = /^(\d{4})[-/]?(\d\d)[-/]?(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?/;
/** Month first, as the examples of transformers print it. */
const AMERICAN = /^(\d\d)\/(\d\d)\/(\d{4}) (.{1,20})$/;
const TEXTUAL = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})$/;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Logs print many lines a second. */
let lastSecond = '';
let lastSecondUs = 0;

/**
 * A printed date and time as microseconds since 1970 as if it were UTC: logs print local time without a zone. Null if
 * the date, the year or the time is missing (glog and syslog print no year). A printed zone is not applied: lines of
 * one log must remain comparable whether their logger prints it or not.
 */
export function parseLogTime(text: string | null | undefined): number | null {
  if (text === null || text === undefined) return null;
  const match = ISO.exec(text);
  if (match !== null) {
    const second = text.slice(0, 19);
    if (second !== lastSecond) {
      const [, year, month, day, hour, minute, sec] = match.map(Number);
      const us = Date.UTC(year!, month! - 1, day!, hour!, minute!, sec!) * 1000;
      if (!Number.isFinite(us) || month! > 12 || day! > 31 || hour! > 24) return null;
      lastSecond = second;
      lastSecondUs = us;
    }
    const fraction = match[7];
    return fraction === undefined ? lastSecondUs : lastSecondUs + Number(fraction.slice(0, 6).padEnd(6, '0'));
  }
  const american = AMERICAN.exec(text);
  if (american !== null) return parseLogTime(`${american[3]}-${american[1]}-${american[2]} ${american[4]}`);
  const textual = TEXTUAL.exec(text);
  if (textual === null) return null;
  const [, month = '', day, hour, minute, second, year] = textual;
  const index = MONTHS.indexOf(month);
  return index < 0
    ? null
    : Date.UTC(Number(year), index, Number(day), Number(hour), Number(minute), Number(second)) * 1000;
}
