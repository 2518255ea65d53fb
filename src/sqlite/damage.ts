/**
 * A contradiction of the file format inside one table: it ends that table's scan, and does not leave this folder as an
 * exception. `openDatabase`, which returns nothing without the schema, turns it into an MBF2701.
 */
export class Damage extends Error {
  /** Bytes from the start of the file. */
  readonly offset: number;

  constructor(fact: string, offset: number) {
    super(fact);
    this.name = 'Damage';
    this.offset = offset;
  }
}
