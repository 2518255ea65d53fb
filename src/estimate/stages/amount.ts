/** Bytes with the bounds between which we would not be surprised to find them. */
import type { Component } from '../../model/vocabulary.js';

export interface Amount {
  readonly bytes: number;
  readonly low: number;
  readonly high: number;
}

/** A piece of a component: what it is, and what was assumed to get its number. */
export interface Part extends Amount {
  readonly component: Component;
  readonly name: string;
  readonly basis: string;
  /** Held by the driver or a library, so that PyTorch's own figures leave it out. */
  readonly outside: boolean;
}

export const NOTHING: Amount = { bytes: 0, low: 0, high: 0 };

/** No doubt about the number under its assumptions. */
export function exactly(bytes: number): Amount {
  return { bytes, low: bytes, high: bytes };
}

export function between(low: number, bytes: number, high: number): Amount {
  return { bytes, low, high };
}

/** Bounds add up as if all errors went the same way: parts of one model err together. */
export function sum(amounts: Iterable<Amount>): Amount {
  let { bytes, low, high } = NOTHING;
  for (const amount of amounts) {
    bytes += amount.bytes;
    low += amount.low;
    high += amount.high;
  }
  return { bytes, low, high };
}

export function times(amount: Amount, factor: number): Amount {
  return { bytes: amount.bytes * factor, low: amount.low * factor, high: amount.high * factor };
}

export function part(component: Component, name: string, amount: Amount, basis: string, outside = false): Part {
  return { component, name, basis, outside, bytes: amount.bytes, low: amount.low, high: amount.high };
}
