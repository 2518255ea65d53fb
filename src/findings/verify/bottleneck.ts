/**
 * What limits the run after the change: its failure; else speed if more was lost than expected; else the largest
 * component of the fullest rank.
 */
import { maxBy, maxOf } from '../../model/lists.js';
import type { Component } from '../../model/vocabulary.js';
import { throughputLost } from './measured.js';
import type { Side } from './side.js';
import type { VerifyBottleneck, VerifyMeasured } from './unworded.js';
import { textOf } from './values.js';

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
      text: textOf('failure', { ...status.verdict, failure: status.failure?.text }),
    };
  }
  const lost = throughputLost(measured, sameWork);
  const expectedPercent = expectedCost ?? 0;
  if (lost !== null && lost.percent - lost.noise > expectedPercent + SLOWER)
    return {
      ...memory,
      kind: 'speed',
      text: textOf('speed', { percent: lost.percent, expected: expectedCost, memory: memory.text }),
    };
  if (lost === null || lost.percent - lost.noise <= SLOWER || memory.kind === 'unknown') return memory;
  return { ...memory, text: textOf('speed_too', { percent: lost.percent, memory: memory.text }) };
}

function memoryOf({ before, after }: BottleneckInput): VerifyBottleneck {
  const peak = maxBy(
    after.measurement.peaks.filter(({ active_bytes: bytes }) => bytes > 0),
    ({ active_bytes: bytes }) => bytes,
  );
  const fullest = fullestStage(after);
  const device = deviceBytes(before, after);
  const reserved = Math.max(
    peak?.reserved_bytes ?? 0,
    maxOf(after.measurement.ranks.map(({ peak_reserved_bytes: bytes }) => bytes ?? 0)),
  );
  const outside = outsideBytes(after) ?? outsideBytes(before);
  const headroom = device === null || reserved === 0 ? null : device - reserved - (outside ?? 0);
  const components = Object.entries(peak?.components ?? {}) as [Component, number][];
  const [component, bytes] = maxBy(components, ([, bytes]) => bytes) ?? [null, null];
  const figures = {
    ...{ component, component_bytes: bytes, peak_bytes: peak?.active_bytes, rank: peak?.rank },
    ...{ stage: fullest?.pp, full_rank: fullest?.rank, full_bytes: fullest?.most },
    ...{ headroom_bytes: headroom, device_bytes: device, reserved_bytes: reserved, outside_bytes: outside },
    as_before: outsideBytes(after) === null,
  };
  const isKnown = component !== null || fullest !== undefined || headroom !== null;
  return {
    kind: isKnown ? 'memory' : 'unknown',
    text: textOf(isKnown ? 'memory' : 'memory_unknown', figures),
    cause: null,
    rank: peak?.rank ?? fullest?.rank ?? null,
    stage: fullest?.pp ?? null,
    component,
    component_bytes: bytes,
    peak_bytes: peak?.active_bytes ?? fullest?.most ?? null,
    device_bytes: device,
    headroom_bytes: headroom,
  };
}

function fullestStage({ diagnosis }: Side) {
  const stages = (diagnosis.ranks?.stages ?? []).flatMap(({ pp, peak_allocated_bytes: peak }) =>
    peak === null || peak.most <= 0 ? [] : [{ pp, most: peak.most, rank: peak.most_rank }],
  );
  return maxBy(stages, ({ most }) => most);
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
