/** Components whose code is in a place, by the words in its path. For growth without a stack that leads to it. */
import { loadData } from '../../knowledge/load-data.js';
import type { Component } from '../../model/vocabulary.js';
import type { Growth } from './growth.js';

/** Words in the paths of Megatron-LM, Megatron Bridge and NeMo. */
const WORDS = new Map(
  Object.entries(
    (loadData('memory-words') as { readonly components: Readonly<Record<string, string>> }).components,
  ).map(([component, pattern]) => [component, new RegExp(pattern, 'i')]),
);

/** How much of what grew is of components that a text names; the largest of them. */
export function componentWords(
  text: string,
  growth: Growth,
): { readonly share: number; readonly component: Component | undefined } {
  let bytes = 0;
  let component: Component | undefined;
  let largest = 0;
  for (const [one, { delta_bytes }] of growth.components) {
    if (delta_bytes <= 0 || WORDS.get(one)?.test(text) !== true) continue;
    bytes += delta_bytes;
    if (delta_bytes > largest) [component, largest] = [one, delta_bytes];
  }
  return { share: growth.component_bytes === 0 ? 0 : bytes / growth.component_bytes, component };
}
