import { type GaugeMetric, type KeptFinding, plainPlace } from '../../src/model/log-rows.js';
import type { RowSink } from '../../src/model/parser.js';
import { gaugeFigure } from '../../src/text/gauge-figure.js';
import { Oddities } from '../../src/text/oddities.js';
import { plainIncident } from '../../src/text/plain-incident.js';
import type { AccountingRecord } from './accounting-record.js';
import { countNodes, type Size } from './figures.js';
import { failureOf, weightOf } from './states.js';

/** Jobs of one file: rows name them, and names are remembered. More are the accounting of a cluster, not of a run. */
export const MOST_JOBS = 20_000;
/** Steps of a job: a script may start thousands. */
const MOST_STEPS = 4096;

/** Turns the records of jobs into rows. Those of a job follow each other: first the job, then its steps. */
export class JobWriter {
  jobs = 0;
  readonly oddities = new Oddities();
  private readonly sink: RowSink;
  private readonly format: string;
  private group: AccountingRecord[] = [];
  private dropped = 0;
  private droppedSteps = 0;

  constructor(sink: RowSink, format: string) {
    this.sink = sink;
    this.format = format;
  }

  add(record: AccountingRecord): void {
    const first = this.group[0];
    // A requeued job has a row of its own for each time it ran (`sacct --duplicates`).
    if (first !== undefined && (first.job !== record.job || record.step === null)) this.flush();
    if (this.group.length < MOST_STEPS) this.group.push(record);
    else this.droppedSteps += 1;
  }

  end(): void {
    this.flush();
    if (this.dropped > 0) {
      const text = `more than ${MOST_JOBS} jobs; the rest was left out. Name the jobs of the run: sacct -j JOBID`;
      this.sink.note({ kind: 'slurm_many_jobs', severity: 'warning', text, count: this.dropped });
    }
    if (this.droppedSteps > 0) {
      const text = `steps behind the first ${MOST_STEPS} of a job; left out`;
      this.sink.note({ kind: 'slurm_many_steps', severity: 'warning', text, count: this.droppedSteps });
    }
  }

  private flush(): void {
    const { group } = this;
    this.group = [];
    if (group.length === 0) return;
    this.jobs += 1;
    if (this.jobs > MOST_JOBS) {
      this.dropped += 1;
      return;
    }
    const job = group.find(({ step }) => step === null);
    for (const record of group) this.figures(record, job);
    this.failure(group, job);
  }

  /** One incident for all records of a job: the most specific state, at its first record. */
  private failure(group: readonly AccountingRecord[], job: AccountingRecord | undefined): void {
    let cause: AccountingRecord | null = null;
    for (const record of group) {
      if (record.state === null || failureOf(record.state) === null) continue;
      // Slurm cancels what is left of a job that is done.
      if (record.step !== null && record.state === 'CANCELLED' && job !== undefined && job.state !== 'CANCELLED')
        continue;
      // Of equals a step is more specific than its job, but `extern` is not a user's program.
      const isStronger =
        cause === null ||
        weightOf(record.state) < weightOf(cause.state!) ||
        (record.state === cause.state && cause.step === null && record.step !== 'extern');
      if (isStronger) cause = record;
    }
    if (cause === null) return;
    const { state, line, offset, text, endText } = cause;
    this.sink.incident(
      plainIncident({
        kind: failureOf(state!)!,
        grammar: 'slurm.sacct-state',
        text,
        line,
        offset,
        host: cause.failedNode ?? hostOf(cause) ?? (job === undefined ? null : hostOf(job)),
        exitCode: cause.exitCode ?? job?.exitCode ?? null,
        timeText: endText ?? null,
        timeUs: cause.endUs ?? job?.endUs ?? null,
      }),
    );
  }

  private figures(record: AccountingRecord, job: AccountingRecord | undefined): void {
    const { step, line, offset } = record;
    const id = step === null ? record.job : `${record.job}.${step}`;
    const coordinates = step === null ? `[job=${record.job}]` : `[job=${record.job},step=${step}]`;
    const process = record.name === undefined || record.name === step ? id : `${id} ${record.name}`;
    const timeUs = record.endUs ?? job?.endUs ?? null;
    const emit = (finding: KeptFinding, host = hostOf(record)): void =>
      this.sink.logRow(finding, plainPlace({ line, offset, host, timeUs, format: this.format }));
    const gauge = (metric: GaugeMetric, size: Size | undefined, host: string | null, share = 1): void => {
      if (size === undefined) return;
      const finding = gaugeFigure(metric, size.text, size.unit, size.unitBytes / share, { process });
      if (finding !== null) emit(finding, host);
    };
    const value = (name: string, known: number | undefined, unit: string): void => {
      if (known !== undefined) emit({ row: 'value', name: `slurm.${name}${coordinates}`, value: known, unit });
    };
    const word = (name: string, text: string | undefined): void => {
      if (!text) return;
      emit({ row: 'value', name: `slurm.${name}${coordinates}`, value: null, unit: null, text });
    };
    if (step === null) this.limit(record, gauge, value);
    const rssHost = record.maxRssNode ?? hostOf(record);
    gauge('process_max_rss', record.maxRss, rssHost);
    gauge('process_rss', record.aveRss, hostOf(record));
    word('name', record.name);
    word('state', record.stateText);
    word('exit_code', record.exitText);
    word('reason', record.reason);
    word('nodes', record.nodeList);
    value('elapsed', record.elapsedS, 's');
    value('time_limit', record.limitS, 's');
    value('tasks', record.tasks, 'count');
    value('memory_utilized', bytesOf(record.summedRss), 'bytes');
    value('max_vmsize', bytesOf(record.maxVmSize), 'bytes');
    value('gpu_memory_max', bytesOf(record.gpuMem), 'bytes');
    value('gpu_utilization_max', record.gpuUtil, '%');
  }

  /**
   * What the job may use of one host. A request for the whole job is shared out, where the number of nodes is known.
   */
  private limit(
    record: AccountingRecord,
    gauge: (metric: GaugeMetric, size: Size | undefined, host: string | null, share?: number) => void,
    value: (name: string, known: number | undefined, unit: string) => void,
  ): void {
    const { reqMem, allocMem, cpus } = record;
    const nodes = record.nodes ?? countNodes(record.nodeList ?? '') ?? undefined;
    const host = hostOf(record);
    // `--mem=0` asks for all of a node, not for nothing.
    const asked = reqMem !== undefined && Number(reqMem.text) > 0 ? reqMem : undefined;
    if (asked?.per === 'node') gauge('host_limit', asked, host);
    else if (asked?.per === 'cpu' && cpus !== undefined && nodes !== undefined)
      gauge('host_limit', asked, host, nodes / cpus);
    else if (asked?.per === 'job' && nodes !== undefined) gauge('host_limit', asked, host, nodes);
    else if (asked === undefined && allocMem !== undefined && nodes !== undefined)
      gauge('host_limit', allocMem, host, nodes);
    if (asked?.per === 'cpu') value('req_mem_per_cpu', bytesOf(asked), 'bytes');
    if (asked?.per === 'job' && nodes !== 1) value('req_mem', bytesOf(asked), 'bytes');
  }
}

/** The host of a record that ran on one only. */
function hostOf({ nodeList }: AccountingRecord): string | null {
  return nodeList !== undefined && /^[\w.-]{1,64}$/.test(nodeList) ? nodeList : null;
}

function bytesOf(size: Size | undefined): number | undefined {
  return size === undefined ? undefined : Math.round(Number(size.text) * size.unitBytes);
}
