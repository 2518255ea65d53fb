import { epochUs } from '../../src/text/clock-text.js';
import { copyOf } from '../../src/text/text-lines.js';
import { describeDevice, isDcgmSeries, sample, setDevice } from './dcgm-series.js';
import type { LineReader } from './line-reader.js';
import type { SampleWriter } from './sample-writer.js';

/** `name{labels} value time`, labels and time not always. */
const SAMPLE =
  /^([A-Za-z_:][\w:]{0,200})(?:\{((?:[^"}]|"(?:[^"\\]|\\.){0,4096}"){0,4096})\})? {1,8}([-+]?[\w.+-]{1,40})(?: {1,8}(-?[\d.]{1,24}))?\s{0,8}$/;
const LABEL = /(?<!\w)([A-Za-z_]\w{0,100})\s{0,8}=\s{0,8}"((?:[^"\\]|\\.){0,4096})"/g;
const MOST_KNOWN = 4096;

/** Whether a line can be one of the Prometheus text format. */
export function isPrometheusLine(line: string): boolean {
  return line.startsWith('#') || SAMPLE.test(line);
}

/**
 * What dcgm-exporter serves, as it is (then without times) or with the times that a scraper added; series of others
 * that were scraped with it are passed over. Upstream: Prometheus, exposition formats 0.0.4 (milliseconds) and
 * OpenMetrics (seconds).
 */
export class PrometheusReader implements LineReader {
  private readonly writer: SampleWriter;
  private readonly labels = new Map<string, ReadonlyMap<string, string>>();

  constructor(writer: SampleWriter) {
    this.writer = writer;
  }

  take(text: string, line: number, offset: number, isWhole: boolean): void {
    if (text === '' || text.charCodeAt(0) === 35) return;
    const { writer } = this;
    const match = SAMPLE.exec(text);
    if (!isWhole) {
      if (text.trim() !== '') writer.odd('monitor_cut', line, offset);
      return;
    }
    if (match === null) {
      if (text.trim() !== '') writer.odd('monitor_foreign', line, offset);
      return;
    }
    const [, name = '', labelText = '', value = '', time] = match;
    if (!isDcgmSeries(name)) return;
    const labels = this.labelsOf(labelText);
    const number = Number(time ?? Number.NaN);
    // OpenMetrics counts seconds, which it will be long before they reach the milliseconds of today.
    const us = epochUs(number > 1e11 ? number / 1000 : number);
    writer.at(line, offset);
    writer.setTime(us === null ? null : { us, isUtc: true });
    setDevice(writer, labels);
    describeDevice(writer, labels);
    sample(writer, name, labels, value, text);
  }

  end(): void {}

  /** The same few hundred label sets come again at every scrape. */
  private labelsOf(text: string): ReadonlyMap<string, string> {
    const known = this.labels.get(text);
    if (known !== undefined) return known;
    const copy = copyOf(text);
    const labels = new Map<string, string>();
    for (const [, name = '', value = ''] of copy.matchAll(LABEL)) {
      labels.set(
        name,
        value.replace(/\\(.)/g, (_whole, char: string) => (char === 'n' ? '\n' : char)),
      );
    }
    if (this.labels.size >= MOST_KNOWN) this.labels.clear();
    this.labels.set(copy, labels);
    return labels;
  }
}
