/** Words for memory outside this process's PyTorch. */
import { DRIVER_OWNER_WORDS } from '../../../model/results/nsys.js';
import { formatBytes } from '../../../model/units.js';
import type { MonitorFacts } from '../../outside/monitor-facts.js';
import type { OomFacts } from '../facts.js';
import { type CauseWords, numberOf, unknownReason, type Words } from './words.js';

export const externalPressure: CauseWords = (answer, facts, evidence) => {
  switch (answer.reason) {
    case 'total_unknown':
      return {
        text: 'the device total (not in the evidence): ingest the OOM message of this rank, or give --capacity',
      };
    case 'process_unknown':
      return { text: 'what this process held: its reserved bytes, or its memory in use' };
    case 'allocated_unknown':
      return { text: 'the allocated bytes' };
  }
  const outsideBytes = numberOf(answer, 'outside_bytes');
  if (answer.reason === 'ordinary')
    return { text: `${formatBytes(Math.max(0, outsideBytes))} outside PyTorch is ordinary` };
  if (answer.reason === 'full_in_any_case')
    return {
      text: `even with the rest of the device to itself ${formatBytes(numberOf(answer, 'live_bytes'))} + the request do not fit`,
    };
  evidence.add(
    `outside PyTorch: ${formatBytes(outsideBytes)} of the device's ${formatBytes(numberOf(answer, 'total_bytes'))}`,
    facts.total!.source,
  );
  const foreignBytes = numberOf(answer, 'foreign_bytes');
  const seen = facts.monitor?.others ?? null;
  const ownText = formatBytes(outsideBytes - foreignBytes);
  switch (answer.reason) {
    case 'owner_unknown':
      return {
        text: `${formatBytes(outsideBytes)} of the device are outside this process's PyTorch; the message does not say whose they are`,
        next: ['run nvidia-smi on that host: another process, or a leftover of a killed one, holds the device'],
      };
    case 'other_processes':
      return {
        text: `other processes hold ${formatBytes(foreignBytes)} of the device${named(seen)}`,
        next: [
          seen === null || seen.length === 0
            ? 'find the process with nvidia-smi on that host and end it, or move this rank to a free device'
            : `end ${pidWords(seen)} on that host, or move this rank to a free device`,
        ],
      };
    case 'profiled':
    case 'profiled_nccl': {
      const owners = ownersOf(facts);
      evidence.add(`outside PyTorch, by the driver: ${owners}`, facts.driver!.source);
      return profiled(answer.reason === 'profiled_nccl', ownText, owners);
    }
    case 'nccl_signs':
      for (const { text, source } of facts.run!.nccl.slice(0, 3)) evidence.add(text, source);
      return {
        text: `${ownText} of this process lie outside PyTorch, and NCCL is set up to hold much`,
        next: [
          'undo the NCCL settings named, or use fewer communicators; NCCL_DEBUG_SUBSYS=INIT,ALLOC shows what each buffer takes',
        ],
      };
    case 'outside_pytorch':
      return {
        text: `${ownText} of this process lie outside PyTorch (NCCL, CUDA context, libraries)`,
        next: [
          'count communicators and NCCL channels (NCCL_DEBUG=INFO); an Nsight Systems capture names the allocations',
        ],
      };
  }
  return unknownReason(answer);
};

function profiled(isNccl: boolean, ownText: string, owners: string): Words {
  return {
    text: `${ownText} of this process lie outside PyTorch: ${owners}`,
    next: isNccl
      ? [
          'use fewer communicators or smaller NCCL buffers (NCCL_BUFFSIZE, NCCL_MAX_NCHANNELS); `mbforensics nsys` names the calls that took them',
        ]
      : ['`mbforensics nsys` names the calls that took it'],
  };
}

function ownersOf({ driver }: OomFacts): string {
  const named = driver!.outside.slice(0, 3);
  return named.map(({ owner, bytes }) => `${DRIVER_OWNER_WORDS[owner]} ${formatBytes(bytes)}`).join(', ');
}

type Seen = NonNullable<MonitorFacts['others']>;
const MOST_NAMED = 3;

function pidWords(seen: Seen): string {
  const shown = seen
    .slice(0, MOST_NAMED)
    .map(({ pid, process }) => `pid ${pid ?? 'unknown'}${process === null ? '' : ` (${process})`}`);
  return shown.join(', ');
}

function named(seen: Seen | null): string {
  return seen === null || seen.length === 0 ? '' : `: ${pidWords(seen)}`;
}
