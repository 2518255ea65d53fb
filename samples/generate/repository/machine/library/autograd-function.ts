/** `torch.autograd.Function`: operations whose backward pass is Python of the program's own. */
import { AUTOGRAD } from '../../../simulate/call-sites/sources.js';
import { record, tensorsIn } from '../autograd.js';
import type { Machine } from '../machine.js';
import { Class, Instance, List, Native, retain, Tensor, type Value } from '../values.js';

type Call = (callee: Value, args: readonly Value[]) => Value;

const CONTEXT = new Class('FunctionCtx', []);
CONTEXT.members.set(
  'save_for_backward',
  new Native('save_for_backward', (_machine, [self, ...tensors]) => {
    const list = new List(tensors);
    retain(list);
    (self as Instance).attributes.set('saved_tensors', list);
    return null;
  }),
);

export const FUNCTION = new Class('Function', []);

export function runFunctionApply(machine: Machine, of: Class, args: readonly Value[], call: Call): Value {
  const context = new Instance(CONTEXT);
  const forward = of.members.get('forward') ?? machine.raise(`NotImplementedError: ${of.name}.forward`);
  const wasRecording = machine.isRecordingGradients;
  machine.isRecordingGradients = false;
  const result = call(forward, [context, ...args]);
  machine.isRecordingGradients = wasRecording;
  // All that the context holds lives until backward has run.
  const kept = new List([...context.attributes.values()]);
  retain(kept);
  for (const value of context.attributes.values()) machine.release(value);
  const inputs = tensorsIn(args);
  if (result instanceof Tensor) {
    record(machine, result, {
      inputs,
      saved: [kept],
      backward: (gradient) => {
        const backward = of.members.get('backward') ?? machine.raise(`NotImplementedError: ${of.name}.backward`);
        const answer = machine.within(AUTOGRAD, () => call(backward, [context, gradient]));
        return gradientsFor(machine, inputs, answer);
      },
    });
  }
  machine.release(kept);
  return result;
}

/** Backward answers in the order of the inputs that take part; where it names one, it is the first's. */
function gradientsFor(machine: Machine, inputs: readonly Tensor[], answer: Value): (Tensor | null)[] {
  const given = answer instanceof List ? [...answer.items] : [answer];
  for (const value of given) retain(value);
  machine.dispose(answer);
  const gradients = inputs.map((input, i) => {
    const value = given[i];
    return input.requiresGrad && value instanceof Tensor ? value : null;
  });
  for (const value of given) {
    if (!(value instanceof Tensor)) continue;
    if (gradients.includes(value)) value.refs -= 1;
    else machine.release(value);
  }
  return gradients;
}
