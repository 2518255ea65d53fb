/** Short forms of the lines that torch and frameworks print. */

export const oomLine = (rank: number, allocated: string, unallocated: string): string =>
  `[rank${rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU ${rank % 8} has a total capacity of 79.11 GiB of which 1.00 GiB is free. ` +
  `Including non-PyTorch memory, this process has 78.11 GiB memory in use. Of the allocated memory ${allocated} GiB is allocated by PyTorch, and ${unallocated} GiB is reserved by PyTorch but unallocated.`;
const HINT =
  ' If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.';

type MiB = number;
/** A memory line of Megatron-LM, which prints MiB as MB. */
export const memoryLine = (rank: number, iteration: number, allocated: MiB, peak: MiB, reserved: MiB): string =>
  `[Rank ${rank}] (after ${iteration} iterations) memory (MB) | allocated: ${allocated.toFixed(2)} | max allocated: ${peak.toFixed(2)} | reserved: ${reserved.toFixed(2)} | max reserved: ${reserved.toFixed(2)}`;
const bridgeLine = (rank: number, retries: number): string =>
  `[Rank ${rank}] (after 2 iterations) memory (GB) | mem-allocated-gigabytes: 41.5 | mem-inactive-gigabytes: 9.5 | mem-max-allocated-gigabytes: 60.25 | mem-max-reserved-gigabytes: 80.5 | mem-alloc-retires: ${retries}`;

/** The lines of a short form of `runs.yaml`; any other line is itself. */
export function linesOf(text: string): string[] {
  const [, ooms, allocated, unallocated, hint] = /^OOM (\d+) (\S+) (\S+)( HINT)?$/.exec(text) ?? [];
  if (ooms !== undefined)
    return [`${oomLine(Number(ooms), allocated!, unallocated!)}${hint === undefined ? '' : HINT}`];
  const [, bridge, retries] = /^BRIDGE (\d+) (\d+)$/.exec(text) ?? [];
  if (bridge !== undefined) return [bridgeLine(Number(bridge), Number(retries))];
  const memory = /^MEMORY (\d+) (\d+)(?:-(\d+))? (\d+)(?:([+%])(\d+))? (\d+)$/.exec(text);
  if (memory === null) return [text];
  const [rank, first, last, base, , by, reserved] = memory.slice(1).map((word) => Number(word ?? 0));
  return Array.from({ length: Math.max(1, last! - first! + 1) }, (_, i) => {
    const held = base! + (memory[5] === '%' ? i % by! : i * by!);
    return memoryLine(rank!, first! + i, held, held + 900, reserved!);
  });
}
