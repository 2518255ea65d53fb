/**
 * Names of the errors that CUDA's calls return; the numbers of both interfaces agree for the errors used here.
 * Upstream: CUDA Runtime API, cudaError.
 */
const NAMES: ReadonlyMap<number, string> = new Map([
  [1, 'invalid value'],
  [2, 'out of memory'],
  [3, 'not initialized'],
  [4, 'driver shutting down'],
  [35, 'insufficient driver'],
  [46, 'devices unavailable'],
  [100, 'no device'],
  [101, 'invalid device'],
  [201, 'invalid context'],
  [205, 'map failed'],
  [209, 'no kernel image for device'],
  [214, 'uncorrectable ECC error'],
  [400, 'invalid handle'],
  [700, 'illegal address'],
  [701, 'launch out of resources'],
  [702, 'launch timeout'],
  [704, 'peer access already enabled'],
  [710, 'device-side assert'],
  [719, 'launch failure'],
  [800, 'not permitted'],
  [801, 'not supported'],
  [802, 'system not ready'],
  [900, 'stream capture unsupported'],
  [901, 'stream capture invalidated'],
  [999, 'unknown error'],
]);

export const OUT_OF_MEMORY = 2;

export function cudaErrorName(value: number): string | null {
  return NAMES.get(value) ?? null;
}

/** Calls that ask the driver for memory. */
export function asksForMemory(api: string): boolean {
  return /^(?:cudaMalloc|cudaHostAlloc|cudaHostRegister|cudaArrayCreate|cuMemAlloc|cuMemHostAlloc|cuMemCreate|cuArrayCreate|cudaMemPool|cuMemPool)/.test(
    api,
  );
}
