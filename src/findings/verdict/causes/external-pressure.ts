/**
 * Other memory fills the device: another process, NCCL, the CUDA context. Tested first, since the rest may then look
 * full or fragmented.
 */
import { DRIVER_OWNER_WORDS } from '../../../model/results/nsys.js';
import { formatBytes } from '../../../model/units.js';
import type { MonitorFacts } from '../../outside/monitor-facts.js';
import { active, type CauseTest, type EvidenceLog, type OomFacts, outside } from '../facts.js';
import { ORDINARY_OUTSIDE_BYTES, ORDINARY_OUTSIDE_SHARE } from '../thresholds.js';

/** See its thresholds. */
export function ordinaryOutsideBytes(totalBytes: number): number {
  return Math.max(ORDINARY_OUTSIDE_BYTES, totalBytes * ORDINARY_OUTSIDE_SHARE);
}

export const externalPressure: CauseTest = {
  cause: 'external_pressure',
  run(facts, evidence) {
    const beyond = outside(facts);
    if (facts.total !== null && beyond === null) {
      return {
        outcome: 'not_testable',
        needs: 'what this process held: its reserved bytes, or its memory in use',
        capture: 'whole_oom_message',
      };
    }
    if (beyond === null || facts.total === null) {
      return {
        outcome: 'not_testable',
        needs: 'the device total (not in the evidence): ingest the OOM message of this rank, or give --capacity',
        capture: 'device_total',
      };
    }
    const live = active(facts) ?? facts.process;
    if (live === null) return { outcome: 'not_testable', needs: 'the allocated bytes', capture: 'whole_oom_message' };
    const ordinary = ordinaryOutsideBytes(facts.total.bytes);
    const numbers = {
      outside_bytes: beyond.bytes,
      ordinary_outside_bytes: ordinary,
      total_bytes: facts.total.bytes,
      live_bytes: live.bytes,
      request_bytes: facts.requestAtLeastBytes,
    };
    const text = `outside PyTorch: ${formatBytes(beyond.bytes)} of the device's ${formatBytes(facts.total.bytes)}`;
    if (beyond.bytes <= ordinary) {
      return {
        outcome: 'fails',
        why: `${formatBytes(Math.max(0, beyond.bytes))} outside PyTorch is ordinary`,
        numbers,
      };
    }
    const could = facts.total.bytes - ordinary;
    if (live.bytes + facts.requestAtLeastBytes > could) {
      return {
        outcome: 'fails',
        why: `even with the rest of the device to itself ${formatBytes(live.bytes)} + the request do not fit`,
        numbers,
      };
    }
    evidence.add(text, beyond.source);
    return { outcome: 'holds', ...blame(facts, beyond.bytes, evidence), numbers };
  },
};

/**
 * Another process if the processes' share shows it; otherwise this process's own memory outside PyTorch: NCCL's if
 * there is evidence for it.
 */
function blame(facts: OomFacts, beyondBytes: number, evidence: EvidenceLog) {
  const otherProcessBytes = facts.otherProcesses.reduce((sum, figure) => sum + figure.bytes, 0);
  const beyondProcess =
    facts.process !== null && facts.total !== null && facts.deviceFree !== null
      ? facts.total.bytes - facts.deviceFree.bytes - facts.process.bytes
      : null;
  const seen = facts.monitor?.others ?? null;
  const sampled = seen === null ? 0 : seen.reduce((sum, process) => sum + process.bytes, 0);
  const foreign = Math.max(otherProcessBytes, beyondProcess ?? 0, Math.min(sampled, beyondBytes));
  if (facts.process === null && otherProcessBytes === 0 && seen === null) {
    return {
      detail: null,
      confidence: 'medium' as const,
      summary: `${formatBytes(beyondBytes)} of the device are outside this process's PyTorch; the message does not say whose they are`,
      next: ['run nvidia-smi on that host: another process, or a leftover of a killed one, holds the device'],
    };
  }
  if (foreign * 2 >= beyondBytes) {
    return {
      detail: 'other_process' as const,
      confidence: 'high' as const,
      summary: `other processes hold ${formatBytes(foreign)} of the device${named(seen)}`,
      next: [
        seen === null || seen.length === 0
          ? 'find the process with nvidia-smi on that host and end it, or move this rank to a free device'
          : `end ${pidWords(seen)} on that host, or move this rank to a free device`,
      ],
    };
  }
  const ownText = formatBytes(beyondBytes - foreign);
  const profiled = ofProfile(facts, beyondBytes - foreign, ownText, evidence);
  if (profiled !== undefined) return profiled;
  const signs = facts.run?.nccl ?? [];
  for (const { text, source } of signs.slice(0, 3)) evidence.add(text, source);
  if (signs.length > 0) {
    return {
      detail: 'nccl' as const,
      confidence: 'medium' as const,
      summary: `${ownText} of this process lie outside PyTorch, and NCCL is set up to hold much`,
      next: [
        'undo the NCCL settings named, or use fewer communicators; NCCL_DEBUG_SUBSYS=INIT,ALLOC shows what each buffer takes',
      ],
    };
  }
  return {
    detail: 'non_torch' as const,
    confidence: 'medium' as const,
    summary: `${ownText} of this process lie outside PyTorch (NCCL, CUDA context, libraries)`,
    next: ['count communicators and NCCL channels (NCCL_DEBUG=INFO); an Nsight Systems capture names the allocations'],
  };
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

/** A profile of the driver names the owners outside PyTorch; it decides if it accounts for half of the bytes. */
function ofProfile(facts: OomFacts, ownBytes: number, ownText: string, evidence: EvidenceLog) {
  const { driver } = facts;
  if (driver === null || driver === undefined) return undefined;
  const seen = driver.outside.reduce((sum, { bytes }) => sum + bytes, 0);
  if (2 * seen < ownBytes) return undefined;
  const named = driver.outside
    .slice(0, 3)
    .map(({ owner, bytes }) => `${DRIVER_OWNER_WORDS[owner]} ${formatBytes(bytes)}`);
  evidence.add(`outside PyTorch, by the driver: ${named.join(', ')}`, driver.source);
  const nccl = driver.outside.find(({ owner }) => owner === 'nccl')?.bytes ?? 0;
  const isNccl = 2 * nccl >= seen;
  return {
    detail: isNccl ? ('nccl' as const) : ('non_torch' as const),
    confidence: 'high' as const,
    summary: `${ownText} of this process lie outside PyTorch: ${named.join(', ')}`,
    next: isNccl
      ? [
          'use fewer communicators or smaller NCCL buffers (NCCL_BUFFSIZE, NCCL_MAX_NCHANNELS); `mbforensics nsys` names the calls that took them',
        ]
      : ['`mbforensics nsys` names the calls that took it'],
  };
}
