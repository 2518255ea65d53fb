/** The output projection of a model whose code is nobody's framework: a linear layer that the outermost module calls after all its blocks. */
import { type DeviceAttribution, infer, labelAt } from '../device-attribution.js';
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
  const depths = new Map<number, number>();
  const depthOf = (stackId: number): number => {
    let depth = depths.get(stackId);
    if (depth === undefined) {
      depth = moduleCalls(classes(stackId).frames).length;
      depths.set(stackId, depth);
    }
    return depth;
  };
  let candidates: number[] = [];
  let isDeep = false;
  let window = 0;
  const settle = (): void => {
    if (isDeep)
      for (const row of candidates)
        infer(of, row, OUTPUT_HEAD, {
          component: labelAt(of, row).component === 'recompute' ? 'recompute' : 'logits_loss',
          sub_component: 'output_projection',
          confidence: 'medium',
        });
    candidates = [];
    isDeep = false;
  };
  for (let row = lives.starts; row < lives.count; row += 1) {
    const seq = lives.allocSeq[row]!;
    while (window < phases.windows.length && phases.windows[window]!.lastSeq < seq) {
      settle();
      window += 1;
    }
    if (phases.windows[window]?.phase !== 'forward') continue;
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
