/**
 * Layers and modules, as far as stacks show them: frames carry functions and lines, not the names of module instances.
 */
import { type Frame, frameKind, isPython } from '../frames/call-site.js';
import { modulePath } from '../frames/module-path.js';

const MODULE_FILE = /(?:^|\/)torch\/nn\/modules\/module\.py$/;
const OWN_MODULES = 3;

/** The frames that a call of a module runs: those right inside `Module._call_impl`; innermost first. */
export function moduleCalls(frames: readonly Frame[]): Frame[] {
  // Recordings with C++ frames have the interpreter's between any two.
  const python = frames.filter(isPython);
  const calls: Frame[] = [];
  for (let i = 0; i + 1 < python.length; i += 1)
    if (isModuleFile(python[i + 1]!) && !isModuleFile(python[i]!)) calls.push(python[i]!);
  return calls;
}

/** Of the frames that every call of a module passes through. */
export const isModuleFile = ({ filename }: Frame): boolean =>
  filename.endsWith('module.py') && MODULE_FILE.test(filename.replaceAll('\\', '/'));

/**
 * The path of modules that called each other, outermost first, each as its file and function: `gpt_model:forward →
 * transformer_block:forward → mlp:forward`. The three innermost are kept: those further out are the same for all layers
 * of a model. Of torch's own only the innermost counts: containers are in between everywhere. Undefined outside of
 * modules.
 */
export function layerName(frames: readonly Frame[]): string | undefined {
  const modules = moduleCalls(frames)
    .filter((frame, i) => i === 0 || frameKind(frame) !== 'torch')
    .slice(0, OWN_MODULES)
    .map((frame) => {
      const name = modulePath(frame);
      return name.slice(name.lastIndexOf('.') + 1);
    });
  return modules.length === 0 ? undefined : modules.reverse().join(' → ');
}
