/** The output projection of a model whose code is nobody's framework: a linear layer that the outermost module calls after all its blocks. */
import { type DeviceAttribution, labelAt, relabelling } from '../device-attribution.js';
import { moduleCalls } from '../layer-name.js';

export const OUTPUT_HEAD = 'inference.output-head';

/** Module calls on the stack of a layer that the model itself calls: the model's and the layer's. */
const HEAD_DEPTH = 2;

/**
 * In a forward window, what a linear layer allocates two module calls deep after the last allocation further down. Names cannot tell it: frames carry no names of module instances. Windows
 * without anything deeper are left alone: there every layer is called by the model itself.
 */
export function inferOutputHead(of: DeviceAttribution): void {
  const { lives, classes, phases } = of;
  const depths: (number | undefined)[] = [];
  const depthOf = (stackId: number): number => {
    if (stackId < 0) return 0;
    let depth = depths[stackId];
    if (depth === undefined) {
      depth = moduleCalls(classes(stackId).frames).length;
      depths[stackId] = depth;
    }
    return depth;
  };
  const isHead = relabelling(of, OUTPUT_HEAD, {
    component: 'logits_loss',
    sub_component: 'output_projection',
    confidence: 'medium',
  });
  let candidates: number[] = [];
  let isDeep = false;
  let end = -1;
  const settle = (): void => {
    if (isDeep) for (const row of candidates) isHead(row);
    candidates = [];
    isDeep = false;
  };
  for (let row = lives.starts; row < lives.count; row += 1) {
    if (lives.allocSeq[row]! > end) {
      settle();
      end = phases.endOf(row);
    }
    if (phases.phaseOf(row) !== 'forward') continue;
    const depth = depthOf(lives.stackId[row]!);
    if (depth > HEAD_DEPTH) {
      isDeep = true;
      candidates = [];
    } else if (depth === HEAD_DEPTH && isLinear(of, row)) candidates.push(row);
  }
  settle();
}

function isLinear(of: DeviceAttribution, row: number): boolean {
  const { component, sub_component } = labelAt(of, row);
  return component === 'activation' && /(?:^|_)linear(?:_|$)/.test(sub_component);
}
