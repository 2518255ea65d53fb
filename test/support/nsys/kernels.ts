/** Kernels of a planted training step. */
import type { Kernel } from './rows.js';

export type KernelPlan = Pick<
  Kernel,
  'shortName' | 'demangledName' | 'grid' | 'block' | 'registers' | 'localBytesPerThread'
>;

export const GEMM: KernelPlan = {
  shortName: 'nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNN',
  demangledName: 'nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNN',
  grid: [132, 1, 1],
  block: [384, 1, 1],
  registers: 168,
  localBytesPerThread: 0,
};

/** Spills: a reservation of local memory that no allocation shows. */
export const LAYER_NORM: KernelPlan = {
  shortName: 'vectorized_layer_norm_kernel',
  demangledName:
    'void at::native::<unnamed>::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, T2, const T1 *, const T1 *, const T1 *, T2 *, T2 *, T1 *)',
  grid: [4096, 1, 1],
  block: [32, 4, 1],
  registers: 64,
  localBytesPerThread: 128,
};

export const ELEMENTWISE: KernelPlan = {
  shortName: 'vectorized_elementwise_kernel',
  demangledName:
    'void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char *, (unsigned long)3>>(int, T2, T3)',
  grid: [65536, 1, 1],
  block: [128, 1, 1],
  registers: 32,
  localBytesPerThread: 0,
};

export const ADAM: KernelPlan = {
  shortName: 'multi_tensor_apply_kernel',
  demangledName:
    'void multi_tensor_apply_kernel<TensorListMetadata<(int)4>, AdamFunctor<c10::BFloat16, float, int>, float, float>(long, volatile int *, T1, T2, T3...)',
  grid: [320, 1, 1],
  block: [512, 1, 1],
  registers: 48,
  localBytesPerThread: 0,
};

export const ALL_REDUCE: KernelPlan = {
  shortName: 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL',
  demangledName: 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)',
  grid: [24, 1, 1],
  block: [544, 1, 1],
  registers: 96,
  localBytesPerThread: 0,
};

export const COMPUTE_STREAM = 7;
export const COPY_STREAM = 13;
export const NCCL_STREAM = 20;
