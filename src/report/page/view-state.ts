/**
 * What the views show, shared by all of them. Entry `e` is drawn from `e` to `e + 1` with the state after it, so the
 * whole trace is `firstSeq` to `lastSeq + 1`.
 */

import type { DeviceColumns, PageDevice } from '../../model/picture/page-data.js';

export type AxisKind = 'entry' | 'time' | 'step';

export interface ViewState {
  /** Index into `PageData.devices`. */
  readonly device: number;
  /** Visible entries: `to > from`; whole or in between. */
  readonly from: number;
  readonly to: number;
  readonly axis: AxisKind;
  /** The state after this entry is shown. */
  readonly cursor: number;
  /** The selected stack, an index into `DeviceColumns.stacks`. */
  readonly stack: number | null;
}

/** The device that is drawn. */
export interface Loaded {
  readonly page: PageDevice;
  readonly columns: DeviceColumns;
}

export interface View {
  /** Called after each change, after a resize and after a change of the colour scheme. */
  draw(state: ViewState): void;
}

export interface Shared {
  get(): ViewState;
  set(change: Partial<ViewState>): void;
  subscribe(listener: (state: ViewState, before: ViewState) => void): void;
}

/** Listeners are called once per frame, with the last state and the one they were called with before. */
export function createShared(
  initial: ViewState,
  nextFrame: (draw: () => void) => void = (draw) => requestAnimationFrame(draw),
): Shared {
  const listeners: ((state: ViewState, before: ViewState) => void)[] = [];
  let state = initial;
  let drawn = initial;
  let isWaiting = false;
  const draw = (): void => {
    isWaiting = false;
    const before = drawn;
    drawn = state;
    if (!isSame(before, drawn)) for (const listener of listeners) listener(drawn, before);
  };
  return {
    get: () => state,
    set: (change) => {
      state = { ...state, ...change };
      if (isWaiting || isSame(state, drawn)) return;
      isWaiting = true;
      nextFrame(draw);
    },
    subscribe: (listener) => {
      listeners.push(listener);
    },
  };
}

const isSame = (a: ViewState, b: ViewState): boolean =>
  (Object.keys(a) as (keyof ViewState)[]).every((key) => a[key] === b[key]);
