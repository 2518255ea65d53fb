/** Kernels as a report names and describes them. */
import type { KernelName, ProfiledStream } from '../../simulate/profile/recording.js';

export interface ReportKernel {
  readonly short: string;
  readonly demangled: string;
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  readonly registers: number;
  readonly localBytes: number;
  /** Thread blocks of a cluster; 0: launched without. */
  readonly cluster: number;
  /** By the driver's interface rather than the runtime's. */
  readonly isDriver: boolean;
}

function kernel(
  short: string,
  demangled: string,
  grid: ReportKernel['grid'],
  block: ReportKernel['block'],
  more: Partial<Pick<ReportKernel, 'registers' | 'localBytes' | 'cluster' | 'isDriver'>> = {},
): ReportKernel {
  return { short, demangled, grid, block, registers: 40, localBytes: 0, cluster: 0, isDriver: false, ...more };
}

function nccl(name: string, channels: number): ReportKernel {
  const demangled = `${name}(ncclDevKernelArgsStorage<(unsigned long)4096>)`;
  return kernel(name, demangled, [channels, 1, 1], [640, 1, 1], { registers: 96, cluster: 4, isDriver: true });
}

const CUDNN = 'cudnn_generated_fort_native_sdpa_sm90_flash';
const TE_NORM = 'transformer_engine::normalization::rmsnorm';

export const REPORT_KERNELS: Readonly<Record<KernelName, ReportKernel>> = {
  gemm: kernel(
    'nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNN',
    'nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNN',
    [132, 1, 1],
    [384, 1, 1],
    { registers: 168, cluster: 2, isDriver: true },
  ),
  norm: kernel(
    'rmsnorm_fwd_tuned_kernel',
    `void ${TE_NORM}_fwd_tuned_kernel<${TE_NORM}::Kernel_traits<__nv_bfloat16, __nv_bfloat16, float, (unsigned int)4096>>(KernelParams)`,
    [528, 1, 1],
    [128, 1, 1],
    { registers: 64 },
  ),
  norm_backward: kernel(
    'rmsnorm_bwd_tuned_kernel',
    `void ${TE_NORM}_bwd_tuned_kernel<${TE_NORM}::Kernel_traits<__nv_bfloat16, __nv_bfloat16, float, (unsigned int)4096>>(KernelParams)`,
    [264, 1, 1],
    [128, 1, 1],
    { registers: 96 },
  ),
  attention: kernel(
    `${CUDNN}_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0`,
    `${CUDNN}_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0`,
    [80, 32, 1],
    [384, 1, 1],
    { registers: 168, isDriver: true },
  ),
  attention_backward: kernel(
    `${CUDNN}_bprop_wgmma_f16_knob_33_64x128x128_1x1x1_kernel0_0`,
    `${CUDNN}_bprop_wgmma_f16_knob_33_64x128x128_1x1x1_kernel0_0`,
    [80, 32, 1],
    [384, 1, 1],
    { registers: 168, localBytes: 64, isDriver: true },
  ),
  swiglu: kernel(
    'gated_act_kernel',
    'void transformer_engine::gated_act_kernel<(int)8, float, transformer_engine::Empty, __nv_bfloat16>(const T4 *, T4 *, unsigned long)',
    [4480, 1, 1],
    [512, 1, 1],
  ),
  swiglu_backward: kernel(
    'dgated_act_kernel',
    'void transformer_engine::dgated_act_kernel<(int)8, float, transformer_engine::Empty, __nv_bfloat16>(const T4 *, const T4 *, T4 *, unsigned long)',
    [4480, 1, 1],
    [512, 1, 1],
  ),
  embedding: kernel(
    'vectorized_gather_kernel',
    'void at::native::vectorized_gather_kernel<(int)16, long>(char *, char *, T2 *, int, long, long, long, long, bool)',
    [10_240, 2, 1],
    [256, 1, 1],
  ),
  square_sum: kernel(
    'multi_tensor_apply_kernel',
    'void multi_tensor_apply_kernel<TensorListMetadata<(int)1>, L2NormFunctor<float>, float *>(long, volatile int *, T1, T2, T3...)',
    [320, 1, 1],
    [512, 1, 1],
  ),
  adam: kernel(
    'multi_tensor_apply_kernel',
    'void multi_tensor_apply_kernel<TensorListMetadata<(int)4>, AdamFunctor<float, float, long>, float>(long, volatile int *, T1, T2, T3...)',
    [320, 1, 1],
    [512, 1, 1],
    { registers: 48 },
  ),
  all_reduce: nccl('ncclDevKernel_AllReduce_Sum_f32_RING_LL', 8),
  send_recv: nccl('ncclDevKernel_SendRecv', 8),
  reduce_scatter: nccl('ncclDevKernel_ReduceScatter_Sum_f32_RING_LL', 16),
  all_gather: nccl('ncclDevKernel_AllGather_RING_LL', 16),
};

/** 7 is the default stream. */
export const STREAM_NUMBERS: Readonly<Record<ProfiledStream, number>> = { compute: 7, data_parallel: 23, pipeline: 27 };
