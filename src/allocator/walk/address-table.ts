/** A hash map from address to a slot number, for walks that never ask for neighbours. */

const SEED = (Math.random() * 0x7fffffff) | 0;
const EMPTY = -1;

/**
 * Open addressing; addresses are plain numbers below 2^53, slots ≥ 0. An address once seen keeps its place: a trainer
 * reuses its addresses, and removal without tombstones costs more than it saves. A third of the time of an ordered
 * index, which a walk forward does not need.
 */
export class AddressTable {
  private mask = (1 << 12) - 1;
  private keys = new Float64Array(1 << 12).fill(EMPTY);
  private values = new Int32Array(1 << 12).fill(EMPTY);
  private count = 0;
  /** A look-up is mostly of the address before it: a block's entries follow each other, and a change follows a look. */
  private last = Number.NaN;
  private lastPlace = 0;

  /** The slot of `address`, or −1. */
  get(address: number): number {
    return this.values[this.find(address)]!;
  }

  /** Maps `address` to `slot`, −1 = to none. */
  set(address: number, slot: number): void {
    let place = this.find(address);
    if (this.keys[place] === EMPTY) {
      if (slot < 0) return;
      if ((this.count + 1) * 2 > this.mask) {
        this.grow();
        place = this.find(address);
      }
      this.count += 1;
      this.keys[place] = address;
    }
    this.values[place] = slot;
  }

  private find(address: number): number {
    if (address === this.last) return this.lastPlace;
    const { keys, mask } = this;
    // From a secret seed and through both halves in turn: a file must not be able to choose addresses that collide.
    let mixed = Math.imul((address >>> 0) ^ SEED, 0x9e3779b1);
    mixed = Math.imul(mixed ^ (mixed >>> 16) ^ ((address / 4294967296) >>> 0), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    let place = (mixed ^ (mixed >>> 16)) & mask;
    while (keys[place] !== EMPTY && keys[place] !== address) place = (place + 1) & mask;
    this.last = address;
    this.lastPlace = place;
    return place;
  }

  private grow(): void {
    const { keys, values } = this;
    this.last = Number.NaN;
    this.mask = this.mask * 2 + 1;
    this.keys = new Float64Array(this.mask + 1).fill(EMPTY);
    this.values = new Int32Array(this.mask + 1).fill(EMPTY);
    for (let i = 0; i < keys.length; i += 1) {
      if (keys[i] === EMPTY) continue;
      const place = this.find(keys[i]!);
      this.keys[place] = keys[i]!;
      this.values[place] = values[i]!;
    }
  }
}
