/** A stage of our own model as results have it. */
import type { EstimateInputs } from '../../estimate/inputs.js';
import type { Part } from '../../estimate/stages/amount.js';
import { sum } from '../../estimate/stages/amount.js';
import { byComponent, type StageEstimate } from '../../estimate/stages/estimate-stages.js';
import type { EstimateComponent, EstimatePart, EstimateStage } from '../../model/results/estimate.js';

export function describeStage(stage: StageEstimate, { isMoeLayer }: EstimateInputs): EstimateStage {
  return {
    stage: stage.stage,
    layers: stage.layers.length,
    moe_layers: stage.layers.filter((layer) => isMoeLayer[layer] === true).length,
    in_flight: stage.inFlight,
    parameters: stage.parameters,
    moment: stage.moment,
    components: describeComponents(stage.parts),
    moments: stage.moments.map(([moment, parts]) => ({
      moment,
      components: describeComponents(parts).map((component) => ({ ...component, parts: [] })),
      allocated_bytes: sum(parts.filter(({ outside }) => !outside)).bytes,
      total_bytes: sum(parts).bytes,
    })),
    total_bytes: stage.total.bytes,
    low_bytes: stage.total.low,
    high_bytes: stage.total.high,
    allocated_bytes: stage.allocated.bytes,
    allocated_low_bytes: stage.allocated.low,
    allocated_high_bytes: stage.allocated.high,
    resident_bytes: stage.resident.bytes,
    first_step_allocated_bytes: stage.firstStepAllocatedBytes,
  };
}

function describeComponents(parts: readonly Part[]): EstimateComponent[] {
  return byComponent(parts).map(([name, own]) => describeComponent(name, own));
}

function describeComponent(name: string, parts: readonly Part[]): EstimateComponent {
  const { bytes, low, high } = sum(parts);
  return { name, bytes, low_bytes: low, high_bytes: high, parts: parts.map(describePart) };
}

function describePart(part: Part): EstimatePart {
  return {
    name: part.name,
    bytes: part.bytes,
    low_bytes: part.low,
    high_bytes: part.high,
    outside_pytorch: part.outside,
    basis: part.basis,
  };
}
