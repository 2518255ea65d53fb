/** A standalone cluster of Spark: one master and two workers, processes of their own, on 127.0.0.1. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { PythonPackages } from './python-packages.js';

const HOST = '127.0.0.1';
const WORKERS = 2;
const POLL_MS = 250;
/** A cluster that is not up by then never will be: on a loaded machine it took 80 s. */
const MOST_MS = 300_000;

export interface SparkCluster {
  /** `spark-submit` with the cluster's master, and what it needs in the environment. */
  readonly submit: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Resolves when the master has all workers. */
  ready(): Promise<void>;
  stop(): Promise<void>;
}

export const hasJava = (): boolean => spawnSync('java', ['-version']).status === 0;

/** Starts the processes. `directory`: for the files of workers. */
export async function sparkCluster({ python, site }: PythonPackages, directory: string): Promise<SparkCluster> {
  const home = join(site, 'pyspark');
  const [port, page] = [await freePort(), await freePort()];
  const env = {
    ...{ SPARK_HOME: home, SPARK_LOCAL_IP: HOST, SPARK_NO_DAEMONIZE: '1', PYSPARK_PYTHON: python },
    ...{ SPARK_LOCAL_DIRS: join(directory, 'local'), SPARK_WORKER_DIR: join(directory, 'work') },
  };
  mkdirSync(directory, { recursive: true });
  const master = `spark://${HOST}:${port}`;
  const processes: ChildProcess[] = [];
  const start = (role: string, ...args: readonly string[]): void => {
    const daemon = [`org.apache.spark.deploy.${role}`, '--host', HOST, ...args];
    processes.push(
      spawn(join(home, 'bin', 'spark-class'), daemon, {
        env: { ...process.env, ...env },
        stdio: 'ignore',
        cwd: directory,
      }),
    );
  };
  const stop = async (): Promise<void> => {
    for (const daemon of processes) daemon.kill();
    for (const daemon of processes)
      if (daemon.exitCode === null && daemon.signalCode === null)
        await new Promise((ended) => daemon.once('exit', ended));
  };
  start('master.Master', '--port', String(port), '--webui-port', String(page));
  for (let i = 0; i < WORKERS; i += 1)
    start('worker.Worker', '--cores', '1', '--memory', '1500m', '--webui-port', '0', master);
  const ready = async (): Promise<void> => {
    const until = Date.now() + MOST_MS;
    while ((await workersOf(page)) < WORKERS) {
      if (Date.now() > until || processes.some(({ exitCode }) => exitCode !== null))
        throw new Error('the cluster of Spark did not start');
      await pause(POLL_MS);
    }
  };
  const settings = {
    ...{ 'spark.driver.bindAddress': HOST, 'spark.driver.host': HOST, 'spark.ui.enabled': 'false' },
    ...{ 'spark.sql.shuffle.partitions': '4', 'spark.executor.memory': '1g', 'spark.log.level': 'ERROR' },
  };
  const conf = Object.entries(settings).flatMap(([key, value]) => ['--conf', `${key}=${value}`]);
  return { submit: [join(home, 'bin', 'spark-submit'), '--master', master, ...conf], env, ready, stop };
}

/** Workers that the master has; 0 while it does not answer. */
async function workersOf(page: number): Promise<number> {
  try {
    const answer = (await (await fetch(`http://${HOST}:${page}/json/`)).json()) as { aliveworkers: number };
    return answer.aliveworkers;
  } catch {
    return 0;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, HOST, listening));
  const { port } = server.address() as { port: number };
  await new Promise((closed) => server.close(closed));
  return port;
}
