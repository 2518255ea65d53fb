/** Slurm on this machine: munged, slurmctld and four slurmd as processes of their own, in a directory of their own. */
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

const NODES = ['n1', 'n2', 'n3', 'n4'] as const;

/** The programs, installed where that is possible; why not, if they are missing. */
export function installSlurm(): string | undefined {
  if (process.getuid?.() !== 0) return 'root, for Slurm';
  const has = (): boolean => ['slurmctld', 'slurmd', 'munged'].every((name) => spawnSync('which', [name]).status === 0);
  if (!has() && process.env['MBF_APT'] !== 'never')
    spawnSync('sh', [
      '-c',
      'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends slurm-wlm munge',
    ]);
  return has() ? undefined : 'Slurm (apt-get install slurm-wlm munge)';
}

export interface Slurm {
  readonly directory: string;
  /** Output of one of Slurm's commands. */
  ask(command: string, ...args: string[]): string;
  /** Ends slurmd of a node, the step daemon, and the processes of a task that began with `shell`. */
  kill(node: string, shell: number): void;
  stop(): void;
}

/** Waits for a state, not for a time: a busy machine takes long. */
export async function until(what: string, isSo: () => boolean, seconds = 120): Promise<void> {
  const end = Date.now() + 1000 * seconds;
  while (!isSo()) {
    if (Date.now() > end) throw new Error(`not after ${seconds} s: ${what}`);
    await setTimeout(100);
  }
}

export async function startSlurm(directory: string, more: readonly string[] = []): Promise<Slurm> {
  const at = (...names: string[]): string => join(directory, ...names);
  chmodSync(directory, 0o755);
  for (const name of ['etc', 'state', 'log', 'munge', ...NODES.map((node) => join('spool', node))])
    mkdirSync(at(name), { recursive: true });
  writeFileSync(at('munge', 'munge.key'), randomBytes(1024), { mode: 0o400 });
  const first = 20_000 + (process.pid % 10_000);
  writeFileSync(
    at('etc', 'slurm.conf'),
    `ClusterName=mini
SlurmctldHost=${hostname()}(127.0.0.1)
SlurmctldPort=${first}
SlurmdPort=${first + 1}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=${at('munge', 'socket')}
CredType=cred/munge
StateSaveLocation=${at('state')}
SlurmdSpoolDir=${at('spool')}/%n
SlurmctldPidFile=${at('slurmctld.pid')}
SlurmdPidFile=${directory}/slurmd-%n.pid
SlurmctldLogFile=${at('log', 'slurmctld.log')}
SlurmdLogFile=${at('log')}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdTimeout=10
SlurmctldTimeout=10
SlurmdParameters=config_overrides
${more.join('\n')}
NodeName=n[1-4] NodeHostname=${hostname()} NodeAddr=127.0.0.1 Port=[${first + 11}-${first + 14}] CPUs=1 RealMemory=2000 State=UNKNOWN
PartitionName=debug Nodes=n[1-4] Default=YES MaxTime=INFINITE State=UP
`,
  );
  const env = { ...process.env, SLURM_CONF: at('etc', 'slurm.conf') };
  const ask = (command: string, ...args: string[]): string =>
    execFileSync(command, args, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'pipe'] });
  const pidOf = (file: string): number => Number(readFileSync(file, 'utf8'));
  const pids = [...NODES.map((node) => at(`slurmd-${node}.pid`)), at('slurmctld.pid'), at('munge', 'munged.pid')];
  const stop = (): void => {
    for (const file of pids) if (existsSync(file)) signal(pidOf(file), 'SIGKILL');
  };
  try {
    const files = ['pid', 'log', 'seed'].map((name) => `--${name}-file=${at('munge', `munged.${name}`)}`);
    ask('munged', '--force', `--key-file=${at('munge', 'munge.key')}`, `--socket=${at('munge', 'socket')}`, ...files);
    ask('slurmctld', '-c', '-f', env.SLURM_CONF);
    for (const node of NODES) ask('slurmd', '-N', node, '-f', env.SLURM_CONF);
    const idle = (): boolean =>
      spawnSync('sinfo', ['-h', '-N', '-o', '%t'], { encoding: 'utf8', env }).stdout === 'idle\n'.repeat(4);
    await until('four idle nodes', idle);
  } catch (error) {
    stop();
    throw error;
  }
  return {
    directory,
    ask,
    stop,
    kill(node, shell) {
      signal(pidOf(at(`slurmd-${node}.pid`)), 'SIGKILL');
      // The name of the program, in brackets, may contain anything.
      const stat = readFileSync(`/proc/${shell}/stat`, 'latin1').replace(/^.*\) /s, '');
      signal(Number(stat.split(' ')[1]), 'SIGKILL');
      signal(-shell, 'SIGKILL');
    },
  };
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
