/** A log of many launches with many ranks, each ended by an out-of-memory error. */

export function manyRanksLog(launches: number, ranks: number): string {
  const lines: string[] = [];
  for (let launch = 0; launch < launches; launch += 1) {
    const minute = String(launch).padStart(2, '0');
    lines.push(`[rank0]: using world size: ${ranks}, data-parallel size: ${ranks}, tensor-model-parallel size: 1`);
    for (let rank = 0; rank < ranks; rank += 1) {
      const peak = 50_000 + (rank % 89);
      lines.push(
        `[Rank ${rank}] (after 1 iterations) memory (MB) | allocated: ${40_000 + (rank % 97)}.${minute} | max allocated: ${peak}.5 | reserved: ${peak + 8_000}.0 | max reserved: ${peak + 9_000}.0`,
      );
    }
    for (const iteration of [1, 2]) {
      lines.push(
        ` [2025-11-18 09:${minute}:1${iteration}] iteration ${String(iteration).padStart(8)}/     500 | consumed samples: ${String(512 * iteration).padStart(12)} | elapsed time per iteration (ms): 4${launch}.1 | throughput per GPU (TFLOP/s/GPU): 612.4 | learning rate: 3.000000E-05 | global batch size:   512 | lm loss: 1.7215E+00 | loss scale: 1.0 | grad norm: 2.1 | number of skipped iterations:   0 | number of nan iterations:   0 |`,
      );
    }
    const failed = (7 * launch) % ranks;
    lines.push(
      `[rank${failed}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.60 GiB. GPU ${failed % 8} has a total capacity of 79.11 GiB of which 1.31 GiB is free. Including non-PyTorch memory, this process has 77.80 GiB memory in use. Of the allocated memory 55.08 GiB is allocated by PyTorch, and 18.00 GiB is reserved by PyTorch but unallocated.`,
    );
  }
  return `${lines.join('\n')}\n`;
}
