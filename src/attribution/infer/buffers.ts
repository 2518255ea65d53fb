/**
 * Contiguous buffers of Megatron's DDP: one constructor makes those of the parameters and those of the main gradients.
 */
import type { Attribution } from '../blocks/attribution.js';
import { relabelling } from '../blocks/labels.js';
import { groupByLine, type LineGroup, rowsByRule } from './matched-lines.js';

export const PARAM_BUFFER = 'inference.param-buffer';
export const GRAD_BUFFER = 'inference.grad-buffer';

/** The rules whose stacks are ambiguous; see `rules/megatron-*.ts`. */
const SHARED_CONSTRUCTORS: ReadonlySet<string> = new Set(['mcore.param-and-grad-buffer']);

/** Bytes of an element: bf16 or fp8 parameters, fp32 or bf16 gradients. */
const PARAM_ELEMENT = [2, 4, 1];
const GRAD_ELEMENT = [4, 2];
/** Buffers are padded to a multiple of the data-parallel size times 64 or 128 elements, per bucket. */
const PADDING = 0.03;

/**
 * The constructor allocates the parameters' buffer first (with the distributed optimizer only), then the gradients', on
 * two lines. With both: the first line's are parameters. With one: gradients, unless their sum is what the run printed
 * as the rank's parameters at two bytes each and not at four. Upstream: Megatron-Core
 * `distributed/param_and_grad_buffer.py`, `_ParamAndGradBuffer.__init__`.
 */
export function inferBuffers(of: Attribution): void {
  const all = rowsByRule(of, (_, rules) => rules.some((rule) => SHARED_CONSTRUCTORS.has(rule)));
  for (const [rule, rows] of all) {
    const groups = groupByLine(of, rule, rows);
    const [first, second] = groups;
    if (first === undefined) continue;
    if (second === undefined) name(of, first, onlyBuffer(of, first));
    else {
      name(of, first, 'param');
      for (const group of groups.slice(1)) name(of, group, 'grad');
    }
  }
}

function onlyBuffer({ run }: Attribution, { bytes }: LineGroup): 'param' | 'grad' {
  const { rankParameters: count, distributedOptimizer } = run;
  if (count === null || distributedOptimizer !== true) return 'grad';
  return GRAD_ELEMENT.some((size) => isAbout(bytes, count * size)) ? 'grad' : 'param';
}

function name(of: Attribution, group: LineGroup, kind: 'param' | 'grad'): void {
  const count = of.run.rankParameters;
  const sizes = kind === 'param' ? PARAM_ELEMENT : GRAD_ELEMENT;
  const agrees = count !== null && sizes.some((size) => isAbout(group.bytes, count * size));
  const confidence = agrees ? 'high' : 'medium';
  const isBuffer =
    kind === 'param'
      ? relabelling(of, PARAM_BUFFER, ['parameter', 'param_buffer', confidence])
      : relabelling(of, GRAD_BUFFER, ['gradient', 'main_grad_buffer', confidence]);
  for (const row of group.rows) isBuffer(row);
}

/** Not less, and at most the padding more. */
export function isAbout(bytes: number, expected: number): boolean {
  return bytes >= expected && bytes <= expected * (1 + PADDING);
}
