import { kindOfXid } from '../../../src/model/program-xids.js';
import type { LogFormat } from '../formats/contract.js';
import { failureLine } from './failure-line.js';

export const HARDWARE_FAILURES: readonly LogFormat[] = [
  failureLine({
    id: 'nvidia.xid',
    title: 'Xid: what the NVIDIA kernel driver reports',
    producer: 'NVIDIA driver',
    versions: 'any',
    source: 'docs.nvidia.com/deploy/xid-errors',
    anchors: ['NVRM: Xid'],
    kind: ({ xid }) => kindOfXid(Number(xid)),
    pattern: /(?<text>NVRM: Xid \([^)\n]{1,60}\): (?<xid>\d{1,4})(?:, pid='?(?<pid>\d{1,10}))?[^\n]{0,240})/g,
  }),
  failureLine({
    id: 'device.hardware',
    title: 'a device, its memory or its links failed',
    producer: 'CUDA',
    versions: 'any',
    source: 'cuda driver_types.h cudaError: ECCUncorrectable, NvlinkUncorrectable, HardwareStackError, SystemNotReady',
    anchors: [
      'uncorrectable ECC',
      'Uncorrectable ECC',
      'uncorrectable NVLink',
      'fallen off the bus',
      'hardware stack error',
      'GPU is lost',
      'GPU requires reset',
      'system not yet initialized',
      'Row remapping failure',
      'NVLink error',
      'contained memory error',
      'Hardware failure',
    ],
    kind: 'hardware',
    pattern:
      /(?<text>(?:CUDA error: )?(?:[Uu]ncorrectable (?:ECC|NVLink) error[^\n]{0,80}|(?:GPU|device) has fallen off the bus|hardware stack error|GPU is lost|GPU requires reset|system not yet initialized|Row remapping failure|NVLink error[^\n]{0,80}|contained memory error|Hardware failure))/g,
  }),
];
