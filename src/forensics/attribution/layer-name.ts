/** Layers and modules, as far as stacks show them: frames carry functions and lines, not the names of module instances. */
import { type Frame, frameKind } from '../stacks/call-site.js';
import { modulePath } from '../stacks/module-path.js';

const MODULE_FILE = /(?:^|\/)torch\/nn\/modules\/module\.py$/;
const OWN_MODULES = 3;

/**
 * The path of modules that called each other, outermost first, each as its file and function: `gpt_model:forward → transformer_block:forward → mlp:forward`. A call of a module is a
 * frame right inside `Module._call_impl`. The three innermost are kept: those further out are the same for all layers of a model. Undefined outside of modules.
 */
export function layerName(frames: readonly Frame[]): string | undefined {
  const modules: string[] = [];
  for (let i = 0; i + 1 < frames.length && modules.length < OWN_MODULES; i += 1) {
    const frame = frames[i]!;
    const caller = frames[i + 1]!;
    if (!MODULE_FILE.test(caller.filename.replaceAll('\\', '/')) || MODULE_FILE.test(frame.filename)) continue;
    if (frameKind(frame) === 'torch' && modules.length > 0) continue;
    const name = modulePath(frame);
    modules.push(name.slice(name.lastIndexOf('.') + 1));
  }
  return modules.length === 0 ? undefined : modules.reverse().join(' → ');
}
