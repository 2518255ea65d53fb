/** Colours of ordered values: from little to much in 256 steps, each step darker (on a dark page lighter). Pure. */
import { cssOf, word } from '../palette.js';

/** Both themes go from what is close to the background to what is far from it. */
const STOPS = {
  light: ['#74c4b0', '#3f9fbf', '#2f6fae', '#33428c', '#22184f'],
  dark: ['#2b5f7d', '#2f8f9a', '#58ad84', '#9dbb5e', '#d8c66c'],
} as const;

const STEPS = 256;

/** `share` of `b` in `a`, per channel; words 0xAABBGGRR. */
export function mix(a: number, b: number, share: number): number {
  let mixed = 0xff000000;
  for (const shift of [0, 8, 16]) {
    const from = (a >>> shift) & 0xff;
    mixed |= Math.round(from + (((b >>> shift) & 0xff) - from) * share) << shift;
  }
  return mixed >>> 0;
}

/** Words 0xAABBGGRR. */
export function rampOf(dark: boolean): Uint32Array {
  const stops = (dark ? STOPS.dark : STOPS.light).map(word);
  return Uint32Array.from({ length: STEPS }, (_, i) => {
    const at = (i / (STEPS - 1)) * (stops.length - 1);
    const stop = Math.min(stops.length - 2, Math.floor(at));
    return mix(stops[stop]!, stops[stop + 1]!, at - stop);
  });
}

/** A CSS image of the ramp from left to right. */
export function rampGradient(ramp: Uint32Array): string {
  const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => cssOf(ramp[Math.round(share * (ramp.length - 1))]!));
  return `linear-gradient(to right, ${stops.join(', ')})`;
}

/** The color of `value` where `most` is the end of a logarithmic ramp that begins with 1. */
export function rampColor(ramp: Uint32Array, value: number, most: number): number {
  const share = most <= 1 ? 0 : Math.log(Math.max(1, value)) / Math.log(most);
  return ramp[Math.min(ramp.length - 1, Math.max(0, Math.floor(share * ramp.length)))]!;
}
