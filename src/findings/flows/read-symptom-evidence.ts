/** Reads once of a run what the symptom rules need. */
import { readAllocConf } from '../../allocator/settings.js';
import { estimateRun } from '../../derive/estimate/estimate-run.js';
import { describeIterations } from '../../derive/run/iterations.js';
import { readLogFacts } from '../../derive/run/log-facts.js';
import type { RawFacts } from '../../derive/settings/facts.js';
import { factsOfRun } from '../../derive/settings/facts-of-run.js';
import { View } from '../../derive/settings/view.js';
import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import type { Measurement } from '../../model/measurement.js';
import type { DiagnoseResult, VerdictResult } from '../../model/results/common.js';
import type { LogIncident } from '../../model/results/log.js';
import type { Cause } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { compareContract, TUNING } from '../measure/contract.js';
import { baselineOf } from '../symptoms/baseline.js';
import type { Known, SymptomEvidence, Timer } from '../symptoms/evidence.js';
import { readTimelines } from '../symptoms/read-timelines.js';
import { fact, place } from '../symptoms/symptom.js';
import { measureRun } from './measure-run.js';

export interface GivenEvidence {
  /** The answer of `diagnose`, with its sentences. */
  readonly diagnosis: DiagnoseResult;
  /** A run from before, or a golden one. */
  readonly baseline?: Measurement | undefined;
  /** The NVTX range that is a step. */
  readonly stepRange?: string | undefined;
}

export async function readSymptomEvidence(
  store: Store,
  runId: number,
  run: string,
  { diagnosis, baseline, stepRange }: GivenEvidence,
): Promise<SymptomEvidence> {
  const facts = await factsOfRun(store, runId);
  const log = await readLogFacts(store, runId);
  const { rows } = await describeIterations(store, runId, run, { newest: 1 });
  const measured = await measureRun(store, runId, run, { mostPeaks: 0 });
  return {
    run,
    facts,
    view: new View(facts),
    world_size: log.facts.world_size,
    parallel: log.facts.parallel,
    layout: log.layout,
    device_bytes: deviceBytes(facts, log.facts.gpu.total_bytes, log.facts.origins['gpu.total_bytes']),
    incidents: incidentsOf(log.incidents, diagnosis),
    diagnosis,
    ooms: diagnosis.verdicts.filter((verdict) => isDeviceOom(verdict, log.incidents)),
    expandable: await expandableOf(store, runId, facts),
    // The diagnosis explains the failure, and the memory lines give the peaks.
    own: measured,
    steps_source: rows[0] === undefined ? null : place(rows[0]),
    timers: await readTimers(store, runId),
    estimate: await estimateRun(store, runId),
    baseline:
      baseline === undefined ? null : baselineOf(baseline, await compareContract(store, baseline, measured, TUNING)),
    timelines: await readTimelines(store, runId, log.layout, stepRange),
  };
}

function deviceBytes({ device }: RawFacts, known: number | null, origin: string | undefined): Known<number> {
  if (known !== null) return { value: known, text: fact('device'), source: origin ?? '' };
  return { value: device.total_bytes, text: device.name ?? fact('device'), source: '' };
}

/** What an earlier launch failed of, a later one may have survived. */
function incidentsOf(incidents: readonly LogIncident[], { first_failure: first }: DiagnoseResult): LogIncident[] {
  return incidents.filter(
    ({ copy_of, attempt }) => copy_of === null && (first?.attempt == null || attempt === first.attempt),
  );
}

const OTHER_ENDS: ReadonlySet<Cause> = new Set<Cause>(['host_oom', 'not_oom']);

function isDeviceOom({ cause, request }: VerdictResult, incidents: readonly LogIncident[]): boolean {
  if (OTHER_ENDS.has(cause)) return false;
  // For an undecided verdict, only a failed request or a message of a device shows what ran out.
  return (
    cause !== 'undecided' || request !== null || incidents.some(({ is_oom, kind }) => is_oom && /cuda|hip/.test(kind))
  );
}

/** Snapshots contain the allocator's settings; a variable is only what was requested. */
async function expandableOf(store: Store, runId: number, facts: RawFacts): Promise<Known<boolean>> {
  const recorded = (await store.all('log.snapshot_settings', { run_id: runId })).filter(
    ({ key, value }) => key === 'expandable_segments' && value !== '',
  );
  const values = new Set(recorded.map(({ value }) => /^(?:true|1)$/i.test(value)));
  if (values.size === 1) {
    const [value] = values;
    return {
      value: value!,
      text: fact('expandable', { on: value }),
      source: fact('in_snapshot'),
    };
  }
  for (const name of ALLOCATOR_VARIABLES) {
    const known = facts.env.get(name);
    if (known === undefined || known.value === null) continue;
    const value = readAllocConf(known.value).settings.expandableSegments;
    return { value, text: `${name}=${known.value}`, source: known.file === '' ? known.origin : place(known) };
  }
  const key = ALLOCATOR_VARIABLES[0];
  switch (facts.env_known) {
    case 'whole':
      return { value: false, text: fact('not_set', { key }), source: fact('captured') };
    case 'partial':
      return {
        value: false,
        text: fact('not_set_there', { key }),
        source: [...facts.env.values()].find(({ file }) => file !== '')?.file ?? '',
      };
    case 'none':
      return { value: null, text: fact('no_environment'), source: '' };
  }
}

async function readTimers(store: Store, runId: number): Promise<Timer[]> {
  return (await store.all('symptom.rank_timers', { run_id: runId })).map(
    ({ name, rank, value, display_path, line }) => ({
      name: name.slice('timer.'.length),
      rank,
      ms: value,
      source: place({ file: display_path, line }),
    }),
  );
}
