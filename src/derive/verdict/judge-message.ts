/** From a failure's row of `verdict` to the whole verdict, with evidence and account. */
import { known, type Statement, statement } from '../../model/statement.js';
import type { CauseTest, Contributor, MissingKind, Step, StepKind, Verdict } from '../../model/verdict.js';
import type { Cause } from '../../model/vocabulary.js';
import { account } from './accounting.js';
import { capturesFor, describeTests, type Judged } from './combine.js';
import { stepsOf } from './describe-answers.js';
import { EvidenceLog, type OomFacts } from './facts.js';
import { addFailingSite } from './failing-site.js';
import type { Failure } from './failures.js';
import { jobProcessSteps } from './job-processes.js';

/** Default values of a verdict's optional parts. */
export const BLANK = {
  basis: null,
  reason: null,
  contributors: [],
  summary: null,
  missing: [],
  tests: [],
  captures: [],
  rules: [],
  accounting_total: null,
  accounting: [],
  accounting_from: null,
  accounting_peak: null,
  components: null,
  hint: null,
  replay: null,
  what_if: [],
  commands: [],
  also: [],
  request: null,
} as const satisfies Partial<Verdict>;

/** Where nothing of a failure was found. */
export const UNDECIDED = {
  ...BLANK,
  rank: null,
  device: null,
  cause: 'undecided',
  detail: null,
  confidence: 'low',
  evidence: [],
} as const satisfies Partial<Verdict>;

/** The verdict of a message, with what its run adds. `addHostEvidence`: of the run, for failures of the host. */
export function judgeMessage(
  { facts, context, site, sizes }: Failure,
  judged: Judged,
  addHostEvidence?: (evidence: EvidenceLog) => void,
): Verdict {
  const evidence = new EvidenceLog();
  addMessage(evidence, facts);
  if (judged.basis === 'kind' && judged.tests.length === 0) {
    if (judged.cause === 'host_oom') {
      addHostEvidence?.(evidence);
      evidence.mark(1, 'context');
    } else if (site?.activity != null) addFailingSite(evidence, facts, site, sizes);
    return {
      ...BLANK,
      ...verdictFields(judged, facts),
      rank: facts.rank,
      device: facts.device,
      evidence: evidence.entries,
      rules: [statement('kind_decides')],
    };
  }
  if (facts.impossible.length > 0)
    evidence.add('impossible_figures', facts.printedPlace, {
      items: facts.impossible.map((name) => ({ name, numbers: {} })),
    });
  addFailingSite(evidence, facts, site, sizes);
  context?.addEvidence(evidence, facts, 'message');
  evidence.mark(1, 'context');
  return conclude(facts, judged, evidence);
}

/** The text of a failure's message, if it has one. */
export function addMessage(evidence: EvidenceLog, { text, printedPlace }: OomFacts): void {
  if (text !== null) evidence.add('message', printedPlace, { names: { text: shorten(text) }, about: 'message' });
}

const WHOLE_DEVICE = { missing: ['device_use'], steps: ['look_for_message'] } as const;

interface KindDescription {
  readonly missing?: readonly MissingKind[];
  readonly steps?: readonly StepKind[];
}

/**
 * Of verdicts without a test that holds, by their reason: the kind of the failure line (`kind_verdict`), the tuning
 * guides' rule, or undecided. Such lines report that memory ran out, not whose or how much.
 */
const KINDS: Readonly<Record<string, KindDescription>> = {
  driver: WHOLE_DEVICE,
  engine_pool: { missing: ['device_use'], steps: ['free_for_engine', 'look_for_message'] },
  library: WHOLE_DEVICE,
  figures_lost: WHOLE_DEVICE,
  other_framework: { missing: ['other_allocator'] },
  xla_share: { missing: ['other_allocator'], steps: ['raise_xla_share', 'lower_live_or_request'] },
  xla_program: { steps: ['lower_live_or_request'] },
  nccl: { missing: ['pytorch_reserve'], steps: ['nccl_headroom'] },
  kv_cache: { steps: ['raise_utilization'] },
  graph_capture: { missing: ['pool_contents'], steps: ['graph_headroom'] },
  shared_memory: { steps: ['enlarge_shm'] },
  dataloader_worker: { missing: ['grown_process'], steps: ['fewer_workers'] },
  control_group: { missing: ['grown_process'], steps: ['raise_host_limit'] },
  host: { missing: ['grown_process'], steps: ['raise_host_memory'] },
  configuration: { steps: ['change_setting'] },
  timeout: { missing: ['other_logs'], steps: ['find_last_rank'] },
  connection: { missing: ['other_logs'], steps: ['find_ended_rank'] },
  hardware: { steps: ['take_node_out'] },
  time_limit: { steps: ['resume'] },
  cancelled: { steps: ['resume'] },
  preempted: { steps: ['resume'] },
  killed: { missing: ['run_end'], steps: ['name_all_logs'] },
  not_memory: {},
  unnamed: { missing: ['run_end'], steps: ['name_all_logs'] },
  locked_memory: { missing: ['run_end'], steps: ['check_host_limit'] },
  nccl_unnamed: { missing: ['other_logs'], steps: ['name_all_logs'] },
  worker_lost: { missing: ['grown_process'], steps: ['name_all_logs'] },
  mention: { missing: ['failure_lines'], steps: ['name_whole_log'] },
  expandable_on: { steps: ['ingest_message'] },
  failed_alone: { steps: ['expandable_first'] },
  refused_though_free: { steps: ['check_fraction', 'check_visibility', 'check_host_limit', 'check_driver'] },
  no_test_holds: { steps: ['capture'] },
};

/** Throws for a reason that it does not know. */
export function describeReason(reason: string): Pick<Verdict, 'missing' | 'steps'> {
  const description = KINDS[reason];
  if (description === undefined) throw new Error(`no description of ${reason}`);
  return { missing: description.missing ?? [], steps: stepsOf(description.steps ?? []) };
}

/** Of a verdict without a test that holds. */
function verdictFields({ cause, detail, confidence, basis, reason, capture }: Judged, facts: OomFacts) {
  const captures = capture === null ? [] : capturesFor([{ cause, capture }]);
  const numbers = known({
    ranks: facts.other_ranks,
    most_reserved_bytes: facts.others_reserved_bytes,
    device_free_bytes: facts.device_free_bytes,
    segment_bytes: facts.segment_request_bytes,
  });
  const summary: Statement<'reason'> = statement('reason', { names: { reason }, numbers });
  return { cause, detail, confidence, basis, reason, captures, summary, ...describeReason(reason) };
}

/** What each part of the device is, by the cause that it is. */
const PARTS: Readonly<Partial<Record<Cause, readonly string[]>>> = {
  fragmentation: ['cached'],
  synchronisation: ['pending_free'],
  graph_pools: ['private_pools_free'],
  external_pressure: ['outside_pytorch', 'sibling_processes', 'other_processes'],
};

/** Of a device that is nearly full, none of the free memory inside is worth a word. */
const DETAIL_PARTS: Readonly<Record<string, readonly string[]>> = {
  fraction_limit: ['not_allowed'],
  nearly_full: ['cached', 'pending_free', 'private_pools_free'],
};

/** Parts that would have served the request too, without the one that is the verdict. */
function servingParts({ cause, detail, contributors }: Judged): readonly Contributor[] {
  const heldParts = DETAIL_PARTS[detail ?? ''] ?? PARTS[cause] ?? [];
  return contributors.filter(({ contributor, serves }) => serves === true && !heldParts.includes(contributor));
}

/** The verdict of tests; adds their evidence. */
export function conclude(facts: OomFacts, judged: Judged, evidence: EvidenceLog): Verdict {
  const firstEntry = evidence.entries.length;
  const { held, steps, ...described } = describeTests(judged, facts, evidence);
  for (const { pid, name, bytes, display_path: path, line } of facts.jobProcesses)
    evidence.add('job_process', { path, line }, { numbers: { pid, bytes }, names: { process: name } });
  const serving = servingParts(judged);
  if (held !== undefined && serving.length > 0) {
    const items = serving.map(({ contributor, bytes, left_bytes: left }) => ({
      name: contributor,
      numbers: { bytes, left_bytes: left! },
    }));
    evidence.add('would_serve', facts.reserved_bytes === null ? facts.total!.source : facts.place, { items });
  }
  evidence.mark(firstEntry, 'test');
  const accounting = account(facts);
  const { cause, detail, confidence, basis, reason, contributors } = judged;
  const fields =
    held === undefined
      ? verdictFields(judged, facts)
      : {
          cause,
          detail,
          confidence,
          basis,
          reason,
          contributors,
          captures: [],
          missing: [],
          steps: [
            ...jobSteps(facts, held.cause, held.numbers),
            ...stepsOf(steps),
            ...stepsOf(
              serving.some(({ contributor }) => contributor === 'sibling_processes') && cause === 'capacity'
                ? ['set_device']
                : [],
            ),
          ],
        };
  const captureIds = new Set(described.captures.map(({ id }) => id));
  return {
    ...BLANK,
    ...described,
    ...fields,
    rank: facts.rank,
    device: facts.device,
    evidence: evidence.entries,
    missing: [
      ...(facts.walk_is_exact === false ? (['exact_state'] as const) : []),
      ...(facts.snapshot_id === null ? (['snapshot'] as const) : []),
      ...fields.missing,
    ],
    captures: [...described.captures, ...fields.captures.filter(({ id }) => !captureIds.has(id))],
    accounting_total: accounting.total,
    accounting: accounting.parts,
    accounting_from: accounting.from,
    request: facts.request_bytes === null ? null : { bytes: facts.request_bytes, site: facts.site },
  };
}

/** On a full device, those processes of the job that hold at least what is missing. */
function jobSteps({ jobProcesses }: OomFacts, cause: Cause, numbers: CauseTest['numbers']): readonly Step[] {
  const short = numbers['short_bytes'];
  if (cause !== 'capacity' || short === undefined) return [];
  return stepsOf(jobProcessSteps(jobProcesses.filter(({ bytes }) => bytes >= short)));
}

/** Two lines of a screen: a C++ exception names its error behind its type. */
const LONGEST_TEXT = 160;

/** The beginning of a message in whole words: enough to recognise it; its source has the full text. */
export function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= LONGEST_TEXT) return line;
  const cut = line.slice(0, LONGEST_TEXT - 2);
  const whole = line[LONGEST_TEXT - 2] === ' ' ? cut : cut.replace(/ [^ ]*$/, '');
  // A number without its unit would be another number.
  return `${whole.replace(/ [\d.,]+$/, '')} …`;
}
