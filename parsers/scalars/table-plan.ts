/**
 * Which columns of a table of scalars mean what, by its header or, if the header does not name the figure, by the file
 * name.
 */
import { findScalarName } from '../../src/text/scalars/find-scalar-name.js';

export type TableForm = 'tensorboard' | 'wandb-history' | 'wandb-chart' | 'lightning' | 'deepspeed' | 'table';

export interface ScalarColumn {
  readonly index: number;
  readonly tag: string;
}

export interface TablePlan {
  readonly form: TableForm;
  readonly step: number | null;
  /** Name of the figure on the x axis, where it is more than a step. */
  readonly stepTag: string | null;
  /** Seconds since 1970. */
  readonly time: number | null;
  readonly columns: readonly ScalarColumn[];
  readonly countsFrom: 0 | 1 | undefined;
  /** Values went through floats of four bytes. */
  readonly isFloat32: boolean;
  /** Number of runs in the table, in adjacent columns; 1 by default. */
  readonly runs: number;
}

const MOST_COLUMNS = 20_000;
/** x axes that a chart of W&B may have and that are steps. */
const STEP_AXES: ReadonlySet<string> = new Set([
  'Step',
  '_step',
  'train/global_step',
  'trainer/global_step',
  'global_step',
]);
const CHART_RANGE = /^([^\n]{1,400})__(?:MIN|MAX)$/;
const STEP_COLUMNS = ['step', 'global_step', 'iteration'];

/** Null: nothing in the header proves that it is a table of scalars. */
export function planTable(header: readonly string[], fileName: string): TablePlan | null {
  if (header.length < 2 || header.length > MOST_COLUMNS) return null;
  return (
    tensorboard(header, fileName) ??
    history(header) ??
    chart(header) ??
    deepspeed(header, fileName) ??
    table(header, fileName)
  );
}

const NONE = { stepTag: null, countsFrom: undefined, isFloat32: false, runs: 1 } as const;

/** The download of one curve. Upstream: tensorboard `plugins/scalar/scalars_plugin.py`; the name is the front end's. */
function tensorboard(header: readonly string[], fileName: string): TablePlan | null {
  if (header.join() !== 'Wall time,Step,Value') return null;
  return {
    ...NONE,
    form: 'tensorboard',
    time: 0,
    step: 1,
    columns: [{ index: 2, tag: tagOfDownload(fileName) }],
    isFloat32: true,
  };
}

/** `run-<run>-tag-<tag>.csv`, with underscores for strokes; the file's name where it has another form. */
export function tagOfDownload(fileName: string): string {
  const stem = fileName.replace(/\.(?:csv|json)$/i, '').replace(/ \(\d{1,3}\)$/, '');
  const at = stem.startsWith('run-') ? stem.lastIndexOf('-tag-') : -1;
  return at < 0 ? stem : stem.slice(at + '-tag-'.length);
}

/** `run.history().to_csv()`, `run.scan_history()` through pandas. */
function history(header: readonly string[]): TablePlan | null {
  const step = header.indexOf('_step');
  if (step < 0 || !(header.includes('_timestamp') || header.includes('_runtime'))) return null;
  const time = header.indexOf('_timestamp');
  return { ...NONE, form: 'wandb-history', step, time: time < 0 ? null : time, columns: figures(header) };
}

/** Names that begin with an underscore are W&B's own; one without a name is the index of pandas. */
function figures(header: readonly string[], not: ReadonlySet<number> = new Set()): ScalarColumn[] {
  return header.flatMap((tag, index) =>
    tag === '' || tag.startsWith('_') || /^Unnamed: \d{1,3}$/.test(tag) || not.has(index) ? [] : [{ index, tag }],
  );
}

/** The export of a chart: the x axis, then `<run> - <metric>` and its range for every run. */
function chart(header: readonly string[]): TablePlan | null {
  const names = new Set(header);
  const ranges = header.filter((name) => {
    const whose = CHART_RANGE.exec(name)?.[1];
    return whose !== undefined && names.has(whose);
  });
  if (ranges.length === 0) return null;
  const runs = new Set<string>();
  const metricColumns: { readonly index: number; readonly full: string; readonly metric: string }[] = [];
  header.forEach((full, index) => {
    if (index === 0 || CHART_RANGE.test(full)) return;
    const at = full.lastIndexOf(' - ');
    const metric = at < 0 ? full : full.slice(at + 3);
    if (metric.startsWith('_')) return;
    runs.add(at < 0 ? '' : full.slice(0, at));
    metricColumns.push({ index, full, metric });
  });
  if (metricColumns.length === 0) return null;
  const isStep = STEP_AXES.has(header[0]!);
  const isTime = /^(?:_timestamp|Wall Time|Absolute Time)$/i.test(header[0]!);
  return {
    ...NONE,
    form: 'wandb-chart',
    step: isStep ? 0 : null,
    stepTag: isStep && header[0]!.includes('global_step') ? header[0]! : null,
    time: isTime ? 0 : null,
    // Of several runs nothing may be taken for one run's iterations.
    columns: metricColumns.map(({ index, full, metric }) => ({ index, tag: runs.size > 1 ? full : metric })),
    runs: runs.size,
  };
}

/** Upstream: deepspeed `monitor/csv_monitor.py`: a file for every name, with its last part for a header. */
function deepspeed(header: readonly string[], fileName: string): TablePlan | null {
  if (header.length !== 2 || header[0] !== 'step' || !/^Train_Samples_\w{1,100}\.csv$/.test(fileName)) return null;
  return {
    ...NONE,
    form: 'deepspeed',
    step: 0,
    time: null,
    columns: [{ index: 1, tag: `Train/Samples/${header[1]}` }],
  };
}

/**
 * Lightning's `metrics.csv` (`lightning/fabric/loggers/csv_logs.py`), and tables of hand-written loops: a step, and
 * figures that the dictionary knows.
 */
function table(header: readonly string[], fileName: string): TablePlan | null {
  const step = STEP_COLUMNS.map((name) => header.indexOf(name)).find((index) => index >= 0);
  if (step === undefined) return null;
  const columns = figures(header, new Set([step]));
  const isLightning = /^metrics\.csv$/i.test(fileName) && header[step] === 'step' && header.includes('epoch');
  const known = columns.filter(({ tag }) => {
    const meaning = findScalarName(tag)?.meaning.as;
    return meaning === 'field' || meaning === 'memory' || meaning === 'torch-stat';
  });
  if (!isLightning && known.length < 2) return null;
  return {
    ...NONE,
    form: isLightning ? 'lightning' : 'table',
    step,
    time: null,
    columns,
    countsFrom: isLightning ? 0 : undefined,
  };
}

/** Cells of a header line; null where its quotes do not end. */
export function splitHeader(line: string): string[] | null {
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    if (line[at] === '"') {
      let cell = '';
      for (;;) {
        const end = line.indexOf('"', at + 1);
        if (end < 0) return null;
        cell += line.slice(at + 1, end);
        at = end + 1;
        if (line[at] !== '"') break;
        cell += '"';
      }
      cells.push(cell);
      if (at < line.length && line[at] !== ',') return null;
    } else {
      const comma = line.indexOf(',', at);
      const end = comma < 0 ? line.length : comma;
      cells.push(line.slice(at, end));
      at = end;
    }
    if (at >= line.length) return cells;
    if (cells.length > MOST_COLUMNS) return null;
    at += 1;
  }
}
