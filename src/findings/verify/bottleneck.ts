/**
 * What limits the run after the change: its failure; else speed if more was lost than expected; else the largest
 * component of the fullest rank.
 */
import { maxOf } from '../../model/lists.js';
import type { MeasuredPeak } from '../../model/measurement.js';
import type { VerifyBottleneck, VerifyMeasured } from '../../model/results/verify.js';
import { formatBytes } from '../../model/units.js';
import type { Component } from '../../model/vocabulary.js';
import { throughputLost } from './measured.js';
import type { Side } from './side.js';

/** Percent of throughput beyond what was expected that makes speed the next thing to look at. */
const SLOWER = 2;

export interface BottleneckInput {
  readonly before: Side;
  readonly after: Side;
  readonly measured: VerifyMeasured;
  readonly expectedCost: number | null;
  readonly sameWork: boolean;
}

export function bottleneckOf(input: BottleneckInput): VerifyBottleneck {
  const { after, measured, expectedCost, sameWork } = input;
  const memory = memoryOf(input);
  const { status } = after.measurement;
  if (status.ending === 'oom' || status.ending === 'failed') {
    const verdict = after.diagnosis.verdicts[0];
    return {
      ...memory,
      kind: 'failure',
      cause: verdict?.cause ?? null,
      rank: verdict?.rank ?? status.failure?.rank ?? null,
      stage: status.failure?.stage ?? null,
      text:
        status.verdict === null
          ? (status.failure?.text ?? 'it failed')
          : `${status.verdict.cause.replaceAll('_', ' ')}: ${status.verdict.summary}`,
    };
  }
  const lost = throughputLost(measured, sameWork);
  const expectedPercent = expectedCost ?? 0;
  if (lost !== null && lost.percent - lost.noise > expectedPercent + SLOWER)
    return {
      ...memory,
      kind: 'speed',
      text: `speed: ${lost.percent.toFixed(1)} % of throughput lost${expectedCost === null ? '' : ` where ${expectedCost} % were expected`}; ${memory.text}`,
    };
  if (lost === null || lost.percent - lost.noise <= SLOWER || memory.kind === 'unknown') return memory;
  return { ...memory, text: `${memory.text}; and speed: ${lost.percent.toFixed(1)} % of throughput, as expected` };
}

function memoryOf({ before, after }: BottleneckInput): VerifyBottleneck {
  const peak = after.measurement.peaks.reduce<MeasuredPeak | null>(
    (most, one) => (one.active_bytes > (most?.active_bytes ?? 0) ? one : most),
    null,
  );
  const fullest = fullestStage(after);
  const device = deviceBytes(before, after);
  const reserved = Math.max(
    peak?.reserved_bytes ?? 0,
    maxOf(after.measurement.ranks.map(({ peak_reserved_bytes: bytes }) => bytes ?? 0)),
  );
  const outside = outsideBytes(after) ?? outsideBytes(before);
  const headroom = device === null || reserved === 0 ? null : device - reserved - (outside ?? 0);
  const [component, bytes] = largestComponent(peak);
  const parts = [
    ...(component === null
      ? []
      : [
          `${component.replaceAll('_', ' ')} ${formatBytes(bytes!)} of ${formatBytes(peak!.active_bytes)} at the peak${peak!.rank === null ? '' : ` of rank ${peak!.rank}`}`,
        ]),
    ...(fullest === null ? [] : [fullest.text]),
    ...(headroom === null
      ? []
      : [
          `headroom ${formatBytes(Math.max(0, headroom))} (device ${formatBytes(device!)} less ${formatBytes(reserved)} reserved${outside === null ? '' : ` and ${formatBytes(outside)} outside PyTorch${outsideBytes(after) === null ? ', as before' : ''}`})`,
        ]),
  ];
  return {
    kind: parts.length === 0 ? 'unknown' : 'memory',
    text:
      parts.length === 0
        ? 'what it holds is not in the evidence: neither a snapshot nor memory lines'
        : parts.join('; '),
    cause: null,
    rank: peak?.rank ?? fullest?.rank ?? null,
    stage: fullest?.stage ?? null,
    component,
    component_bytes: bytes,
    peak_bytes: peak?.active_bytes ?? fullest?.bytes ?? null,
    device_bytes: device,
    headroom_bytes: headroom,
  };
}

function largestComponent(peak: MeasuredPeak | null): readonly [Component | null, number | null] {
  if (peak === null) return [null, null];
  const [first] = (Object.entries(peak.components) as [Component, number][]).sort((a, b) => b[1] - a[1]);
  return first ?? [null, null];
}

function fullestStage({ diagnosis }: Side): {
  readonly stage: number | null;
  readonly rank: number;
  readonly bytes: number;
  readonly text: string;
} | null {
  const stages = (diagnosis.ranks?.stages ?? []).flatMap(({ pp, peak_allocated_bytes: peak }) =>
    peak === null ? [] : [{ pp, most: peak.most, rank: peak.most_rank }],
  );
  const fullest = stages.reduce<(typeof stages)[number] | null>(
    (most, one) => (one.most > (most?.most ?? 0) ? one : most),
    null,
  );
  if (fullest === null) return null;
  const of = fullest.pp === null ? '' : `stage ${fullest.pp}, `;
  return {
    stage: fullest.pp,
    rank: fullest.rank,
    bytes: fullest.most,
    text: `fullest: ${of}rank ${fullest.rank} with ${formatBytes(fullest.most)}`,
  };
}

/** Device bytes of the run itself; else of the run before, unless its devices are known to differ. */
function deviceBytes(before: Side, after: Side): number | null {
  const deviceBytes = after.facts.device.total_bytes ?? after.measurement.gpu.total_bytes;
  const theirs = before.measurement.gpu.total_bytes ?? before.facts.device.total_bytes;
  const [a, b] = [before.measurement.gpu.name, after.measurement.gpu.name];
  if (a !== null && b !== null && a !== b) return deviceBytes;
  return after.measurement.gpu.total_bytes ?? theirs ?? deviceBytes;
}

function outsideBytes({ diagnosis }: Side): number | null {
  const parts = diagnosis.verdicts[0]?.accounting ?? [];
  return parts.find(({ part }) => /outside/i.test(part))?.bytes ?? null;
}
