/** Other processes on the device that the logs of the run name: its own engines, ranks and workers. */
import { groupBy } from '../../model/group-by.js';
import { sumOf } from '../../model/lists.js';
import type { Item } from '../../model/statement.js';
import type { StepKind } from '../../model/verdict.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';

/** With its bytes on the device, by the OOM message, and where the log names it. */
export type JobProcess = QueryRow<'incident.job_processes'>;

/** By the place of their OOM message, most bytes first. */
export async function readJobProcesses(
  store: Store,
  runId: number,
): Promise<(path: string | null, line: number | null) => readonly JobProcess[]> {
  const rows = await store.all('incident.job_processes', { run_id: runId });
  const byMessage = groupBy(rows, (row) => `${row.message_line} ${row.message_path}`);
  return (path, line) => byMessage.get(`${line} ${path}`) ?? [];
}

/**
 * Names of what serves or generates: actors of NeMo RL, OpenRLHF, verl, slime and SkyRL; processes of vLLM (EngineCore,
 * Worker_TP0, RayWorkerWrapper) and SGLang.
 */
const ENGINE =
  /vllm|sglang|llm|engine|generation|rollout|infer|sampler|server|scheduler|^(?:ray)?worker(?:_|wrapper|$)/i;
/** Another rank of the same training; trainers that also generate (`WorkerDict` of verl) are among them. */
const RANK = /train|policy|actor|critic|workerdict|learner|^rank/i;

function stepOf({ name }: JobProcess): StepKind {
  if (/dataloader/i.test(name)) return 'move_job_process';
  if (ENGINE.test(name)) return 'lower_engine_share';
  return RANK.test(name) ? 'set_device' : 'move_job_process';
}

export function itemsOf(processes: readonly JobProcess[]): Item[] {
  return processes.map(({ pid, name, bytes }) => ({ name, numbers: { pid, bytes } }));
}

/** What to do about them, that with the most bytes first: they are not to be ended. */
export function jobProcessSteps(processes: readonly JobProcess[]) {
  const byStep = [...groupBy(processes, stepOf)].map(([kind, of]) => ({ kind, items: itemsOf(of) }));
  const bytesOf = ({ items }: { readonly items: readonly Item[] }): number =>
    sumOf(items.map(({ numbers }) => numbers['bytes']!));
  return byStep.sort((a, b) => bytesOf(b) - bytesOf(a));
}
