/**
 * Colours of the page. A component has the same colour in every page, so that two pages are compared at a glance. The
 * eight hues are those of Okabe and Ito, first plain, then hatched, with greys for memory of unknown use. They are
 * darkened on a light page and lightened on a dark one until each has a contrast of 3 : 1 with the background: views
 * separate neighbours by a line of the background. Pure.
 */
import type { Component } from '../../model/vocabulary.js';

export interface Palette {
  /** 0xAABBGGRR words for `ImageData`, by index of the component. */
  readonly component: Uint32Array;
  /** 1: drawn with hatching. */
  readonly hatched: Uint8Array;
  /** Free memory in segments. */
  readonly free: number;
  readonly background: number;
  /** Hatched over what waits for a stream. */
  readonly pending: number;
  /** Free memory of private pools; drawn with hatching. */
  readonly privateFree: number;
  /** Text, and the lines that matter most. */
  readonly ink: number;
  /** Text of axes. */
  readonly muted: number;
  /** Lines behind the data. */
  readonly grid: number;
  /** Blocks that keep a hole from growing. */
  readonly pin: number;
  readonly selected: number;
  /** Marks of failed allocations. */
  readonly oom: number;
  /** CSS colours, by index of the component. */
  readonly css: readonly string[];
}

type Hue = 'orange' | 'sky' | 'green' | 'yellow' | 'blue' | 'vermilion' | 'purple' | 'black' | 'grey';

/**
 * `#rrggbb` for light and dark pages. Yellow on white and black on black lack contrast: they are shifted most. The
 * lightness keeps any two distinguishable without green or red receptors.
 */
const HUES: Readonly<Record<Hue, readonly [light: string, dark: string]>> = {
  orange: ['#c48700', '#e69f00'],
  sky: ['#4a9cca', '#56b4e9'],
  green: ['#00966d', '#009e73'],
  yellow: ['#857e20', '#f0e442'],
  blue: ['#006eab', '#007bc0'],
  vermilion: ['#9f4400', '#d55e00'],
  purple: ['#c977a5', '#cc79a7'],
  black: ['#2b333b', '#d4dae0'],
  grey: ['#626a71', '#717a83'],
};

/** Hues of one family are shared by components that are not neighbours or differ by hatching. */
const COMPONENT_HUES: Readonly<Record<Component, readonly [hue: Hue, hatched: boolean]>> = {
  parameter: ['blue', false],
  optimizer_state: ['orange', false],
  gradient: ['green', false],
  activation: ['sky', false],
  logits_loss: ['vermilion', false],
  recompute: ['sky', true],
  communication: ['purple', false],
  moe_dispatch: ['purple', true],
  workspace: ['black', false],
  graph_pool: ['black', true],
  fp8_buffer: ['blue', true],
  offload_buffer: ['orange', true],
  checkpoint: ['vermilion', true],
  kv_cache: ['green', true],
  input: ['yellow', true],
  temporary: ['yellow', false],
  before_recording: ['grey', false],
  unattributed: ['grey', true],
};

/** Names outside the closed list are drawn as `unattributed`. */
export function paletteOf(components: readonly string[], dark: boolean): Palette {
  const theme = dark ? 1 : 0;
  const looks = components.map((name) =>
    Object.hasOwn(COMPONENT_HUES, name) ? COMPONENT_HUES[name as Component] : COMPONENT_HUES.unattributed,
  );
  const css = looks.map(([hue]) => HUES[hue][theme]);
  const either = (light: string, night: string): number => word(dark ? night : light);
  return {
    component: Uint32Array.from(css, word),
    hatched: Uint8Array.from(looks, ([, isHatched]) => (isHatched ? 1 : 0)),
    free: either('#e6eaee', '#2a323a'),
    background: either('#ffffff', '#12161b'),
    pending: either('#d9306f', '#ff7aa8'),
    privateFree: either('#cfd6dd', '#3d4852'),
    ink: either('#1b2229', '#e8ecf0'),
    muted: either('#5b6670', '#9aa5af'),
    grid: either('#e3e7eb', '#2b333b'),
    pin: either('#c2185b', '#ff5c93'),
    selected: either('#1b2229', '#ffffff'),
    oom: either('#c62828', '#ff6b6b'),
    css,
  };
}

/** `#rrggbb` as a word for `ImageData`, opaque. */
export function word(css: string): number {
  const rgb = Number.parseInt(css.slice(1), 16);
  return (0xff000000 | ((rgb & 0xff) << 16) | (rgb & 0xff00) | (rgb >>> 16)) >>> 0;
}

/** The inverse of {@link word}; with `opacity` from 0 to 1. */
export function cssOf(color: number, opacity = 1): string {
  return `rgb(${color & 0xff} ${(color >>> 8) & 0xff} ${(color >>> 16) & 0xff} / ${opacity})`;
}
