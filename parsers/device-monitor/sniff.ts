import type { Head, Sniff } from '../../src/model/parser.js';
import { HEAD_BYTES, mostAre, textOfHead } from '../../src/text/stream-head.js';
import { DCGMI_HEADER, DCGMI_ROW, DMON_HEADER, DMON_UNITS } from './read-columns.js';
import { guessHeader, type Header, looksLikeRow, mayBeBetweenRows, parseHeader, splitCells } from './read-csv.js';
import { isPrometheusLine } from './read-prometheus.js';
import { isReportLine, REPORT_BEGIN } from './read-report-text.js';

/** What a file turned out to be; also the id of the format in its rows. */
export type MonitorForm =
  | 'nvidia-smi.csv'
  | 'nvidia-smi.csv-headerless'
  | 'nvidia-smi.report'
  | 'nvidia-smi.xml'
  | 'nvidia-smi.dmon'
  | 'nvidia-smi.pmon'
  | 'nvidia-smi.json'
  | 'nvidia-smi.json-lines'
  | 'dcgmi.dmon'
  | 'dcgm-exporter.text'
  | 'dcgm-exporter.query';

export interface Recognised extends Sniff {
  readonly form: MonitorForm;
  /** Columns of a process query without a header. */
  readonly guessed: Header | null;
}

const SURE = 0.97;
/** Above what a log claims by its words (0.9). */
const LIKELY = 0.95;
const MONITOR_NAME = /nvidia|smi|gpu|dcgm|dmon|pmon/i;

/** Recognises a monitor's output by its first line and by what follows it. Null: it is none. Never throws. */
export function recogniseMonitor(head: Head): Recognised | null {
  const { text, filled } = textOfHead(head, 'latin1');
  const first = filled[0];
  if (first === undefined) return null;
  const start = first.trimStart()[0];
  if (start === '<') return xml(text);
  if (start === '{' || start === '[') return json(text, filled);
  return report(head, text, filled) ?? columns(filled) ?? prometheus(filled) ?? csv(filled, head.name);
}

function recognised(form: MonitorForm, score: number, why: string, guessed: Header | null = null): Recognised {
  return { form, score, why, guessed };
}

function xml(text: string): Recognised | null {
  return /^[^<]{0,20}(?:<[?!][^<>]{0,300}>\s{0,20}){0,4}<nvidia_smi_log>/.test(text)
    ? recognised('nvidia-smi.xml', SURE, 'It is a report of nvidia-smi -q -x.')
    : null;
}

function json(text: string, lines: readonly string[]): Recognised | null {
  if (/^\s{0,100}\{/.test(text) && /"resultType"\s{0,8}:\s{0,8}"(?:matrix|vector)"/.test(text.slice(0, 4000))) {
    return text.includes('"DCGM_')
      ? recognised('dcgm-exporter.query', SURE, 'It is a result of Prometheus with series of DCGM.')
      : null;
  }
  const names = new Set(
    [...text.matchAll(/"([a-z_]{2,40}(?:\.[a-z_]{2,40}){0,3})(?: \[[A-Za-z%]{1,6}\])?"\s{0,8}:/g)].map(
      (match) => match[1]!,
    ),
  );
  const hasMemory = ['memory.used', 'memory.total', 'memory.free', 'used_gpu_memory'].some((name) => names.has(name));
  const hasOther = [
    'uuid',
    'gpu_uuid',
    'pci.bus_id',
    'gpu_bus_id',
    'utilization.gpu',
    'temperature.gpu',
    'index',
    'pid',
  ].some((name) => names.has(name));
  if (!hasMemory || !hasOther) return null;
  const why = "It is JSON with nvidia-smi's own field names.";
  const isLines = /^\s{0,20}\{.{1,60000}\}\s{0,20}$/.test(lines[0]!);
  return recognised(isLines ? 'nvidia-smi.json-lines' : 'nvidia-smi.json', LIKELY, why);
}

/**
 * A job that prints `nvidia-smi -q` before it trains writes a log, and the report may fill its whole head. The log
 * parser reads such a file unless a second report follows, the file ends with the first one, or its name identifies it
 * as a report.
 */
function report(head: Head, text: string, lines: readonly string[]): Recognised | null {
  if (!REPORT_BEGIN.test(lines[0]!.trim()) || !mostAre(lines, (line) => isReportLine(line.trimEnd()))) return null;
  const why = 'It is a report of nvidia-smi -q.';
  const reports = lines.filter((line) => REPORT_BEGIN.test(line.trim())).length;
  const isWhole = head.sizeBytes <= head.bytes.length && head.bytes.length < HEAD_BYTES;
  const devices = Number(/^Attached GPUs {0,60}: (\d{1,4})\s{0,4}$/m.exec(text)?.[1] ?? 1);
  const at = [...text.matchAll(/^GPU [0-9A-Fa-f]{4,8}:/gm)].map((match) => match.index);
  const perDevice = at.length > 1 ? (at.at(-1)! - at[0]!) / (at.length - 1) : text.length;
  const endsWithIt = head.sizeBytes <= (devices + 1) * perDevice * 1.3;
  if (reports > 1 || isWhole) return recognised('nvidia-smi.report', SURE, why);
  return recognised('nvidia-smi.report', endsWithIt || MONITOR_NAME.test(head.name) ? LIKELY : 0.5, why);
}

function columns(lines: readonly string[]): Recognised | null {
  const first = lines[0]!;
  if (DMON_HEADER.test(first)) {
    const isRow = (line: string): boolean =>
      /^\s{0,8}(?:\d{8}|\d{4}\/\d\d\/\d\d)?[\s,]{0,8}(?:\d\d:\d\d:\d\d)?[\s,]{0,12}\d{1,4}[\s,]/.test(line);
    if (!mostAre(lines, (line) => DMON_HEADER.test(line) || DMON_UNITS.test(line) || isRow(line))) return null;
    return /\bpid\b/.test(first)
      ? recognised('nvidia-smi.pmon', SURE, 'Its lines are those of nvidia-smi pmon.')
      : recognised('nvidia-smi.dmon', SURE, 'Its lines are those of nvidia-smi dmon.');
  }
  if (!DCGMI_HEADER.test(first)) return null;
  const isOurs = (line: string): boolean =>
    DCGMI_HEADER.test(line) || DCGMI_ROW.test(line) || /^\s{0,8}I[Dd](?:\s|$)/.test(line);
  return mostAre(lines, isOurs) ? recognised('dcgmi.dmon', SURE, 'Its lines are those of dcgmi dmon.') : null;
}

function prometheus(lines: readonly string[]): Recognised | null {
  if (!lines.some((line) => /^DCGM_(?:FI|EXP)_\w{1,80}[ {]/.test(line))) return null;
  return mostAre(lines, isPrometheusLine)
    ? recognised('dcgm-exporter.text', SURE, 'It is what dcgm-exporter serves to Prometheus.')
    : null;
}

function csv(lines: readonly string[], name: string): Recognised | null {
  const header = parseHeader(lines[0]!);
  if (header !== null) {
    if (header.known < 2 || !header.hasFigure) return null;
    let count = header.columns.length;
    const isOurs = (line: string): boolean => {
      const next = /^["a-z]/.test(line) ? parseHeader(line) : null;
      if (next !== null && next.known > 0) count = next.columns.length;
      return next !== null || splitCells(line, count, header.process).length === count || mayBeBetweenRows(line);
    };
    return mostAre(lines, isOurs)
      ? recognised('nvidia-smi.csv', SURE, `It is a table of nvidia-smi: ${lines[0]!.slice(0, 80)}`)
      : null;
  }
  const guessed = guessHeader(lines[0]!);
  if (guessed !== null && mostAre(lines, (line) => guessHeader(line) !== null)) {
    return recognised(
      'nvidia-smi.csv',
      LIKELY,
      'It is a list of processes of nvidia-smi, without its header.',
      guessed,
    );
  }
  if (!mostAre(lines, looksLikeRow) || !/\b(?:MiB|GPU-[0-9a-f]{8}|NVIDIA|Tesla)\b/.test(lines[0]!)) return null;
  return recognised(
    'nvidia-smi.csv-headerless',
    MONITOR_NAME.test(name) ? LIKELY : 0.6,
    'It looks like a table of nvidia-smi without its header.',
  );
}

export function sniffMonitor(head: Head): Sniff {
  return recogniseMonitor(head) ?? { score: 0, why: 'It is not output of nvidia-smi or DCGM.' };
}
