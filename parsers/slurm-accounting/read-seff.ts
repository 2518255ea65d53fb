import { BINARY_UNITS } from '../../src/model/units.js';
import { utf8 } from '../../src/text/text-lines.js';
import type { AccountingRecord } from './accounting-record.js';
import { parseElapsed, type RequestedMemory, type Size } from './figures.js';
import type { JobWriter } from './job-writer.js';
import { parseState } from './states.js';

/** First line of a summary. */
export const SEFF_BEGIN = /^Job ID: (\d{1,12})\s{0,8}$/;
const SEFF_FIELD =
  /^(Array Job ID|Cluster|User\/Group|State|Nodes|Cores|Cores per node|CPU Utilized|CPU Efficiency|Job Wall-clock time|Memory Utilized|Memory Efficiency): (.{1,400})$/;

export function isSeffLine(line: string): boolean {
  return (
    SEFF_BEGIN.test(line) ||
    SEFF_FIELD.test(line) ||
    /^(?:The task which had|WARNING: Efficiency|Efficiency not)/.test(line)
  );
}

/**
 * Summaries of `seff`, one behind the other. Its `GB` are 2^30 bytes: it divides by 1024. Upstream: slurm
 * `contribs/seff/seff`, kbytes2str.
 */
export class SeffReader {
  private readonly writer: JobWriter;
  private job: { -readonly [Key in keyof AccountingRecord]?: AccountingRecord[Key] } | null = null;

  constructor(writer: JobWriter) {
    this.writer = writer;
  }

  take(raw: string, line: number, offset: number): void {
    const text = utf8(raw).trimEnd();
    if (text === '') return;
    const begin = SEFF_BEGIN.exec(text);
    if (begin !== null) {
      this.end();
      this.job = { job: begin[1]!, line, offset };
      return;
    }
    const field = SEFF_FIELD.exec(text);
    const { job } = this;
    if (field === null || job === null) {
      if (!isSeffLine(text)) this.writer.oddities.add('slurm_foreign', line, offset);
      return;
    }
    const [, name = '', value = ''] = field;
    if (name === 'State') {
      const match = /^([A-Z_]{3,24}(?: by \d{1,10})?)(?: \(exit code (\d{1,3})\))?$/.exec(value);
      job.stateText = match?.[1] ?? value;
      job.state = parseState(job.stateText);
      const code = Number(match?.[2] ?? 0);
      job.exitCode = code > 0 ? code : null;
      job.text = text;
      job.line = line;
      job.offset = offset;
    } else if (name === 'Nodes' && /^\d{1,6}$/.test(value)) job.nodes = Number(value);
    else if (name === 'Cores') job.nodes = 1;
    else if (name === 'Job Wall-clock time') job.elapsedS = parseElapsed(value) ?? undefined;
    else if (name === 'Memory Utilized') {
      // The sum of its tasks' maxima, of the step where it is largest; nothing where Slurm did not sample in time.
      const used = size(value);
      if (used !== undefined && Number(used.text) > 0) job.summedRss = used;
    } else if (name === 'Memory Efficiency') job.reqMem = limit(value);
    else if (name === 'Array Job ID' && /^\d{1,12}_\d{1,9}$/.test(value)) job.job = value;
  }

  end(): void {
    const { job } = this;
    this.job = null;
    if (job?.job === undefined || job.line === undefined || job.offset === undefined) return;
    const known = { state: null, stateText: '', exitCode: null, text: `Job ID: ${job.job}` };
    this.writer.add({ ...known, ...job, job: job.job, step: null, line: job.line, offset: job.offset });
  }
}

/** `15.80 GB`; kilobytes are what it counts in. */
function size(text: string): Size | undefined {
  const match = /^(\d{1,9}\.\d\d) ([KMGTP]?)B\b/.exec(text);
  if (match === null) return undefined;
  const [, number = '', unit = ''] = match;
  return { text: number, unit: `${unit}B`, unitBytes: BINARY_UNITS[unit || 'K']! };
}

/** `98.75% of 32.00 GB (16.00 GB/node)`: what is in brackets, or all of it for older versions. */
function limit(text: string): RequestedMemory | undefined {
  const [, whole = '', each = '', per] =
    /^[\d.]{1,12}% of ([\d.]{1,12} [KMGTP]?B)(?: \(([\d.]{1,12} [KMGTP]?B)\/(node|core)\))?/.exec(text) ?? [];
  const perNode = per === 'node' ? size(each) : undefined;
  if (perNode !== undefined) return { ...perNode, per: 'node' };
  const total = size(whole);
  return total === undefined ? undefined : { ...total, per: 'job' };
}
