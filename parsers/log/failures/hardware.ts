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
    samples: [
      {
        text: 'NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus.',
        rows: [
          {
            row: 'failure',
            kind: 'hardware',
            text: 'NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus.',
            pid: 4711,
          },
        ],
      },
      {
        text: 'NVRM: Xid (PCI:0000:86:00): 31, pid=99, name=python3, Ch 00000012, MMU Fault: ENGINE GRAPHICS',
        rows: [
          {
            row: 'failure',
            kind: 'other',
            text: 'NVRM: Xid (PCI:0000:86:00): 31, pid=99, name=python3, Ch 00000012, MMU Fault: ENGINE GRAPHICS',
            pid: 99,
          },
        ],
      },
    ],
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
    samples: [
      {
        text: 'torch.AcceleratorError: CUDA error: uncorrectable NVLink error detected during the execution',
        rows: [
          {
            row: 'failure',
            kind: 'hardware',
            text: 'CUDA error: uncorrectable NVLink error detected during the execution',
          },
        ],
      },
      {
        text: 'RuntimeError: CUDA error: system not yet initialized',
        rows: [{ row: 'failure', kind: 'hardware', text: 'CUDA error: system not yet initialized' }],
      },
    ],
  }),
];
