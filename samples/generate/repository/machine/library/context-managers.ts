/** `torch.no_grad()` and `torch.enable_grad()`. */
import type { Machine } from '../machine.js';
import { Class, type Instance, Native, type Value } from '../values.js';

function gradMode(name: string, recording: boolean): Value {
  const made = new Class(name, []);
  made.members.set(
    '__enter__',
    new Native('__enter__', (machine: Machine, [self]) => {
      (self as Instance).attributes.set('before', machine.isRecordingGradients);
      machine.isRecordingGradients = recording;
      return null;
    }),
  );
  made.members.set(
    '__exit__',
    new Native('__exit__', (machine: Machine, [self]) => {
      machine.isRecordingGradients = (self as Instance).attributes.get('before') === true;
      return null;
    }),
  );
  return made;
}

export const NO_GRAD = gradMode('no_grad', false);
export const ENABLE_GRAD = gradMode('enable_grad', true);
