/** What ranks say besides the writers' usual lines: a hung collective, stragglers. */
import type { IterationRecord, StoryLine } from '../../run.js';
import type { Random } from '../../simulate/random.js';
import { clock } from '../../write/python-text.js';
import type { LaunchOptions } from './launch-options.js';

const TIMEOUT_MS = 600_000;

/** `1121 02:00:23.123456789`: glog's time, month and day first. */
function glogTime(us: number): string {
  const text = new Date(us / 1000).toISOString();
  const fraction = String(Math.floor(us % 1_000_000)).padStart(6, '0');
  return `${text.slice(5, 7)}${text.slice(8, 10)} ${text.slice(11, 19)}.${fraction}417`;
}

/** When the watchdogs of the ranks that wait end them. */
export function timeoutUs(stuckUs: number): number {
  return stuckUs + TIMEOUT_MS * 1000;
}

/** The watchdog of one rank that waits for another. Upstream: torch `ProcessGroupNCCL.cpp`. */
export function watchdogLines(random: Random, rank: number, endUs: number): StoryLine[] {
  const sequence = 700 + Math.floor(random() * 9_000);
  const ran = TIMEOUT_MS + Math.floor(10 + random() * 90);
  const elements = Math.floor(4096 + random() * 9e8);
  const where = `[rank${rank}]:[E${glogTime(endUs)} ProcessGroupNCCL.cpp`;
  const group = `[PG ID 2 PG GUID 9(DATA_PARALLEL_GROUP) Rank ${rank}]`;
  const work =
    `Watchdog caught collective operation timeout: WorkNCCL(SeqNum=${sequence}, OpType=ALLREDUCE, NumelIn=${elements}, ` +
    `NumelOut=${elements}, Timeout(ms)=${TIMEOUT_MS}) ran for ${ran} milliseconds before timing out.`;
  const exception = `${group} Process group watchdog thread terminated with exception: [Rank ${rank}] ${work}`;
  return [
    `${where}:632] [Rank ${rank}] ${work}`,
    `${where}:2268] ${group} failure detected by watchdog at work sequence id: ${sequence} PG status: last enqueued work: ` +
      `${sequence + 2}, last completed work: ${sequence - 1}`,
    `${where}:684] [Rank ${rank}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA ` +
      'kernels, subsequent GPU operations might run on corrupted/incomplete data.',
    `${where}:1895] ${exception}`,
    "terminate called after throwing an instance of 'c10::DistBackendError'",
    `  what():  ${exception}`,
  ].map((text, i) => ({ timeUs: endUs + i * 40, rank, text }));
}

/** How much longer than the others a rank takes that is healthy. */
const USUAL_SPREAD = 0.012;
const THROTTLED_SPREAD = 0.13;

/** The detector's words about a run, healthy or not. */
export function stragglerLines(
  launch: LaunchOptions,
  random: Random,
  iterations: readonly IterationRecord[],
  node: string,
  isSlow: boolean,
): StoryLine[] {
  const slowest = launch.ranks - 1;
  const spread = isSlow ? THROTTLED_SPREAD : USUAL_SPREAD;
  if (launch.stragglers === 'megatron') {
    return iterations.slice(1).map(({ startUs, endUs, teraflopsPerGpu }) => {
      const most = (endUs - startUs) / 1000;
      const least = most / (1 + spread * (0.8 + 0.4 * random()));
      const text = [
        `[${clock(endUs)}] | MnRtt/Rnk: ${least.toFixed(2)}ms/0`,
        `MxRtt/Rnk: ${most.toFixed(2)}ms/${slowest}`,
        `MnPwr/Rnk: ${(isSlow ? 388 : 671).toFixed(0)}000W/${slowest}`,
        `MxPwr/Rnk: 688000W/0`,
        `MnTmp/Rnk: 51C/0`,
        `MxTmp/Rnk: ${isSlow ? 91 : 58}C/${slowest}`,
        `MnClk/Rnk: ${isSlow ? 1395 : 1965}MHz/${slowest}`,
        `MxClk/Rnk: 1980MHz/0`,
        `MnEtpt/Rnk: ${teraflopsPerGpu.toFixed(2)}TF/${slowest}`,
        `MxEtpt/Rnk: ${((teraflopsPerGpu * most) / least).toFixed(2)}TF/0`,
      ].join(' | ');
      return { timeUs: endUs + 90, rank: slowest, text };
    });
  }
  const last = iterations.at(-1);
  if (last === undefined) return [];
  const worst = isSlow ? 1 / (1 + spread) : 1 - USUAL_SPREAD * random();
  const lines = [
    'GPU relative performance:',
    ` Worst performing 1/${launch.ranks} ranks:`,
    `  Rank=${slowest} Node=${node} Score=${worst.toFixed(2)}`,
    ` Best performing 1/${launch.ranks} ranks:`,
    `  Rank=0 Node=${node} Score=1.00`,
    ...(isSlow
      ? [`STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: {${slowest}}`]
      : []),
  ];
  return lines.map((text, i) => ({ timeUs: last.endUs + 100 + i, rank: 0, text }));
}
