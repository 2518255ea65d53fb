import { oomGrammar } from '../../src/knowledge/oom-messages.js';
import { CUT, squash } from './squash.js';

interface Capture {
  readonly name: string;
  readonly kind: 'size' | 'count' | 'text';
  readonly unit?: string;
}

/** A pattern of the grammar, ready to run over squashed text. Global; no quantifier is nested or unbounded. */
export interface CompiledPattern {
  readonly regex: RegExp;
  /** The longest literal part: where the text lacks it, the expression need not run. */
  readonly literal: string;
  /**
   * What each placeholder captures: groups of the expression in order, two (value, unit) for a size. `unit` where the
   * pattern gives it.
   */
  readonly captures: readonly Capture[];
  readonly atLineStart: boolean;
}

/** Not adjacent to a digit, nor to a line end after which the number may continue. */
const WHOLE_LEFT = String.raw`(?<![\d${CUT}])`;
const WHOLE_RIGHT = String.raw`(?![\d${CUT}])`;
const COUNT = String.raw`${WHOLE_LEFT}(\d{1,20})${WHOLE_RIGHT}`;
/** `8,589,934,592`. */
const THOUSANDS = String.raw`${WHOLE_LEFT}(\d{1,3}(?:,\d{3}){0,6})${WHOLE_RIGHT}`;
const NUMBER = String.raw`${WHOLE_LEFT}(?<!\d[.,])(\d{1,20}(?:\.\d{1,6})?)`;
/** No name of a type begins another. */
const DTYPE = `(${Object.keys(oomGrammar().tensor_types)
  .sort((a, b) => b.length - a.length)
  .join('|')})`;
/** `GPU 24GB` names no device. */
const DEVICE = String.raw`(\d{1,4})${WHOLE_RIGHT}(?![\d.]{0,8}(?:[KMGT]i?B|%))`;

function placeholder(name: string, units: string): string {
  if (name === '~') return String.raw`[^\d]{0,12}`;
  if (name === 'device') return DEVICE;
  if (name.endsWith(',#')) return THOUSANDS;
  if (name === 'pid' || name === 'count' || name.endsWith('#')) return COUNT;
  if (name === 'shape') return String.raw`(\d[\d,]{0,80})`;
  if (name === 'dtype') return DTYPE;
  if (name.includes('@')) return `${NUMBER}${WHOLE_RIGHT}`;
  const names = Object.keys(oomGrammar().units[units] ?? {}).sort((a, b) => b.length - a.length);
  return `${NUMBER}(${names.join('|')})`;
}

/** Compiles a pattern of `src/knowledge/oom-messages.yaml`; `units` is a key of its units. */
export function compilePattern(pattern: string, units: string): CompiledPattern {
  const parts = pattern.split(/\{([^{}]+)\}/);
  const captures: Capture[] = [];
  let source = '';
  let literal = '';
  let atLineStart = false;
  parts.forEach((part, index) => {
    if (index % 2 === 1) {
      if (part === '^') {
        atLineStart = true;
        return;
      }
      source += placeholder(part, units);
      if (part === '~') return;
      const counted = part === 'device' || part === 'pid' || part === 'count' || part.endsWith('#');
      const named = part === 'shape' || part === 'dtype';
      const [field, unit] = part.split('@');
      if (unit !== undefined) captures.push({ name: field!, kind: 'count', unit });
      else captures.push({ name: part, kind: named ? 'text' : counted ? 'count' : 'size' });
      return;
    }
    const text = squash([part]).text;
    source += text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    if (text.length > literal.length) literal = text;
  });
  return { regex: new RegExp(source, 'g'), literal, captures, atLineStart };
}
