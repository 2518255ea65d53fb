/** The guides by name, as sources. */
export const MEM = 'Megatron Bridge memory tuning skill';
export const REC = 'Megatron Bridge activation recompute skill';
export const OFF = 'Megatron Bridge CPU offloading skill';
export const PERF = 'NeMo and Megatron Bridge performance guides';
export const DOCS = 'Megatron-Core documentation';

/** The workload of the published experiments. */
export const LLAMA3_70B = 'Llama3 70B SFT, 32 × H100 80GB, FP8, TP4 PP4 VPP5 DP2';
