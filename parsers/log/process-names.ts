import type { Segment } from './assembly.js';

/** Lines that name a process inside their text. */
const TEXTS: readonly (readonly [pattern: RegExp, name: string])[] = [
  // torch/utils/data/dataloader.py, _try_get_data
  [/DataLoader worker \(pid(?:\(s\))? (?<pids>\d{1,10}(?:, \d{1,10}){0,63})\)/, 'DataLoader worker'],
  // torch/distributed/elastic/multiprocessing/api.py; deepspeed/launcher/launch.py
  [/Sending process (?<pids>\d{1,10}) closing signal|\(pid: (?<failed>\d{1,10})\) of binary/, 'training process'],
  [/\bprocess (?<pids>\d{1,10}) spawned with command/, 'training process'],
  // ray/exceptions.py, RayTaskError: the actor's class goes before the name of this row
  [/\bray::(?<actor>\w{1,80})\.\w{1,80}\(\) \(pid=(?<pids>\d{1,10}),/, 'Ray actor'],
  // uvicorn/server.py
  [/Started server process \[(?<pids>\d{1,10})\]/, 'inference server'],
];

/** In every such line. */
export const PROCESS_ANCHORS = [
  'DataLoader worker (pid',
  'Sending process ',
  ') of binary: ',
  ' spawned with command',
  'RayTaskError',
  'Started server process [',
] as const;

/**
 * Actors of trainers that also generate: SkyRL (FSDPPolicyWorkerBase), NeMo RL (DTensorPolicyWorker,
 * VllmGenerationWorker), OpenRLHF (PolicyModelActor, ActorModelRayActor, LLMRayActor), verl (WorkerDict), slime
 * (MegatronTrainRayActor, SGLangEngine). Of vLLM itself none: it may serve alone.
 */
const GENERATING_TRAINER =
  /policy|critic|rollout|^workerdict|model(?:ray)?actor|trainrayactor|generationworker|sglangengine|llmrayactor/i;

/** Of one file. */
const MOST_PROCESSES = 10_000;

type NamingLine = Pick<Segment, 'text' | 'prefix' | 'line' | 'offset'>;

export interface NamedProcess {
  readonly pid: number;
  readonly name: string;
  readonly host: string | null;
  readonly rank: number | null;
  /** Where it was named first. */
  readonly line: number;
  readonly offset: number;
}

/** Whether a line may name a process outside its prefix. */
export const mayName = (text: string): boolean => /process|DataLoader|\(pid:|\bray::/.test(text);

/**
 * Which process a log names by its number: in a prefix (Ray's `(Actor pid=1, ip=…)`, vLLM's `(Worker_TP0 pid=1)`,
 * NCCL's `host:pid:tid`), or in the text of a launcher. Only those that an OOM message lists are kept.
 */
export class ProcessNames {
  private readonly named = new Map<string, NamedProcess>();
  private readonly wanted = new Set<number>();

  see(segment: NamingLine): void {
    const { pid, process } = segment.prefix;
    if (pid !== null && process !== null) this.add(pid, process, segment);
    if (!mayName(segment.text)) return;
    for (const [pattern, name] of TEXTS) {
      const groups = pattern.exec(segment.text)?.groups;
      const pids = groups?.['pids'] ?? groups?.['failed'];
      for (const text of pids?.split(', ') ?? []) this.add(Number(text), groups?.['actor'] ?? name, segment);
    }
  }

  private add(pid: number, name: string, { prefix: { host, rank }, line, offset }: NamingLine): void {
    const key = `${pid} ${host ?? ''}`;
    if (this.named.size < MOST_PROCESSES && !this.named.has(key))
      this.named.set(key, { pid, name, host, rank, line, offset });
  }

  /** True the first time. */
  want(pid: number): boolean {
    const isNew = !this.wanted.has(pid);
    this.wanted.add(pid);
    return isNew;
  }

  /** The names of the processes that OOM messages list. */
  found(): NamedProcess[] {
    return [...this.named.values()].filter(({ pid }) => this.wanted.has(pid));
  }

  /** Where OOM messages list processes: the first one that shows a trainer which also generates. */
  generatingTrainer(): NamedProcess | undefined {
    if (this.wanted.size === 0) return undefined;
    return [...this.named.values()].find(({ name }) => GENERATING_TRAINER.test(name));
  }
}
