/**
 * Where the code of a run is. File and function names are those of Megatron Bridge, Megatron-LM, Transformer Engine
 * and torch; line numbers and source texts are plausible, not those of any one commit.
 */
import type { Framework } from '../../run.js';
import type { CallPath, CodeLine } from '../code-line.js';

export const PACKAGES = '/opt/venv/lib/python3.12/site-packages/';
export const TE = `${PACKAGES}transformer_engine/pytorch/`;
export const BRIDGE = '/opt/Megatron-Bridge/src/megatron/bridge/';
export const MEGATRON_LM = '/opt/megatron-lm/';

/** `megatron/core/`: a checkout of its own, or the one inside Megatron Bridge's. */
export function coreOf(framework: Framework): string {
  return framework === 'megatron-bridge'
    ? '/opt/Megatron-Bridge/3rdparty/Megatron-LM/megatron/core/'
    : `${MEGATRON_LM}megatron/core/`;
}

const known = new Map<string, CodeLine>();

/** The one object of a code line; torch shares frames by code object and line. */
export function at(name: string, filename: string, line: number, source: string): CodeLine {
  const key = `${filename}:${line}:${name}`;
  let location = known.get(key);
  if (location === undefined) {
    location = { name, filename, line, source };
    known.set(key, location);
  }
  return location;
}

/** What `nn.Module.__call__` puts between a module's `forward` and its caller. */
export const MODULE_CALL: CallPath = [
  at('_call_impl', `${PACKAGES}torch/nn/modules/module.py`, 1784, 'return forward_call(*args, **kwargs)'),
  at('_wrapped_call_impl', `${PACKAGES}torch/nn/modules/module.py`, 1773, 'return self._call_impl(*args, **kwargs)'),
];

/** How autograd calls a Python `Function.backward`; its threads know no caller outside. */
export const AUTOGRAD: CallPath = [
  at('apply', `${PACKAGES}torch/autograd/function.py`, 311, 'return user_fn(self, *args)'),
];
