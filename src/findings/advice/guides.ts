/** The guides by name, as sources. */
export const MEM = 'Megatron Bridge memory tuning skill';
export const REC = 'Megatron Bridge activation recompute skill';
export const OFF = 'Megatron Bridge CPU offloading skill';
export const PERF = 'NeMo and Megatron Bridge performance guides';
export const DOCS = 'Megatron-Core documentation';
