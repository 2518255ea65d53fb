/**
 * The leaf pages of one table, in the order of their rowids. Upstream: sqlite.org/fileformat2.html, 1.6 (B-tree Pages).
 *
 * The walk is guarded by the keys. Those of interior pages rise strictly over the whole tree, and the rowids of a leaf
 * must be between its neighbours. So no page can come twice, and a pointer into another table is found before a row of
 * it is returned. This needs no set of visited pages, which for 50 GB would have 12 million members. Depth is limited
 * as in SQLite itself.
 */
import { Damage } from './damage.js';
import { type PageReader, SLACK_BYTES } from './page-reader.js';
import { Varint } from './varint.js';

const TABLE_INTERIOR = 5;
const TABLE_LEAF = 13;
const INDEX_INTERIOR = 2;
const INDEX_LEAF = 10;
/** BTCURSOR_MAX_DEPTH of SQLite's btreeInt.h; four-byte page numbers allow no real tree as deep. */
const MAX_DEPTH = 20;
/** The smallest cell that SQLite allocates; its integrity check also treats pointers beyond as damage. */
const MIN_CELL_BYTES = 4;
/** No high half of a rowid is as small. */
const BEFORE_ALL = -0x80000001;

/** An interior page on the way from the root to the current leaf. Keys are rowids in halves. */
interface Level {
  readonly bytes: Buffer;
  page: number;
  cells: number;
  pointers: number;
  content: number;
  /** The child that comes next; `cells` is the rightmost one. */
  next: number;
  /** The key of the child that came last: all after it are above. */
  keyHigh: number;
  keyLow: number;
  /** No rowid below this page is above. */
  ceilingHigh: number;
  ceilingLow: number;
}

export class TableWalk {
  /** The current leaf: its number, the memory that holds it until the next one, and where it begins there. */
  page = 0;
  bytes: Buffer;
  base = 0;
  cells = 0;
  /** Where its array of cell pointers begins, and the area of its cells: from the start of the page. */
  pointers = 0;
  content = 0;
  /** Bytes that its cells fill, if its header is right: what the decoder holds against them. */
  cellBytes = 0;
  /** Whether this leaf is the whole table. */
  isOnlyLeaf = false;

  private readonly reader: PageReader;
  private readonly root: number;
  private readonly key = new Varint();
  private readonly levels: Level[] = [];
  private depth = -1;
  private isStarted = false;
  /** All leaves are equally far from the root; known from the first one on. */
  private leafDepth = -1;
  /** The last key that was passed: all rowids to come are above. */
  private floorHigh = BEFORE_ALL;
  private floorLow = 0;

  constructor(reader: PageReader, root: number) {
    this.reader = reader;
    this.root = root;
    this.bytes = reader.window;
  }

  /** Moves to the next leaf that has rows; false after the last. Throws {@link Damage}. */
  next(): boolean {
    if (!this.isStarted) {
      this.isStarted = true;
      this.enter(this.root, 0, 0x7fffffff, 0xffffffff);
      if (this.leafDepth === 0) {
        this.isOnlyLeaf = true;
        return this.cells > 0;
      }
    }
    while (this.depth >= 0) {
      const level = this.levels[this.depth]!;
      if (level.next > level.cells) this.depth -= 1;
      else if (this.descend(level)) return true;
    }
    return false;
  }

  /** Enters the next child of an interior page; true if it is a leaf. */
  private descend(level: Level): boolean {
    const { bytes, page } = level;
    if (level.next > 0) {
      this.floorHigh = level.keyHigh;
      this.floorLow = level.keyLow;
    }
    const index = level.next++;
    if (index === level.cells) {
      return this.enter(bytes.readUInt32BE(level.pointers - 4), page, level.ceilingHigh, level.ceilingLow);
    }
    const cell = this.cellAt(bytes, 0, level, index, page);
    const { key } = this;
    if (key.read(bytes, cell + 4) > this.reader.geometry.usableSize) this.failCell(page, index, cell);
    if (!this.isAboveFloor() || isAbove(key.high, key.low, level.ceilingHigh, level.ceilingLow)) {
      this.fail(page, `its key of cell ${index} is out of order`, cell);
    }
    level.keyHigh = key.high;
    level.keyLow = key.low;
    return this.enter(bytes.readUInt32BE(cell), page, key.high, key.low);
  }

  /** Reads a page below page `from`; true if it is a leaf, which then is the current one. */
  private enter(page: number, from: number, ceilingHigh: number, ceilingLow: number): boolean {
    const depth = this.depth + 1;
    if (depth >= MAX_DEPTH)
      this.fail(from, `its children are ${MAX_DEPTH} levels below the root, deeper than any table has them`);
    for (let above = 0; above < depth; above++) {
      if (this.levels[above]!.page === page) this.fail(from, `it points to page ${page}, which is above it`);
    }
    if (depth === this.leafDepth) {
      this.base = this.reader.locate(page, from);
      this.bytes = this.reader.window;
      this.openLeaf(page, ceilingHigh, ceilingLow);
      return true;
    }
    const level = this.levelAt(depth);
    this.reader.readInto(level.bytes, page, from);
    const type = level.bytes[headerAt(page)]!;
    if (type === TABLE_LEAF && this.leafDepth < 0) {
      this.leafDepth = depth;
      this.bytes = level.bytes;
      this.base = 0;
      this.openLeaf(page, ceilingHigh, ceilingLow);
      return true;
    }
    if (type !== TABLE_INTERIOR) this.failType(page, type);
    level.page = page;
    level.next = 0;
    level.ceilingHigh = ceilingHigh;
    level.ceilingLow = ceilingLow;
    this.openPage(level, level.bytes, 0, page, 12);
    this.checkInteriorCells(level);
    // A root on page 1, which is shorter by the file header, may keep its only child.
    if (level.cells === 0 && depth > 0) this.fail(page, 'an interior page without cells');
    this.depth = depth;
    return false;
  }

  /** A count of cells that is too low would lose whole subtrees, undetected by the keys. */
  private checkInteriorCells(level: Level): void {
    const { bytes, page } = level;
    let used = 0;
    for (let index = 0; index < level.cells; index++) {
      const cell = this.cellAt(bytes, 0, level, index, page);
      used += this.key.read(bytes, cell + 4) - cell;
    }
    if (used !== this.cellBytesOf(bytes, 0, level.content, page)) {
      this.fail(page, 'its cells and its free space do not add up', headerAt(page));
    }
  }

  /** What is left of the area of cells without its freeblocks and fragments (1.6). */
  private cellBytesOf(bytes: Buffer, base: number, content: number, page: number): number {
    const { usableSize } = this.reader.geometry;
    const header = base + headerAt(page);
    let left = usableSize - content - bytes[header + 7]!;
    let last = content;
    // Freeblocks follow each other by position, so a list that runs in a circle is damage.
    for (let block = bytes.readUInt16BE(header + 1); block !== 0; block = bytes.readUInt16BE(base + block)) {
      const size = block > usableSize - MIN_CELL_BYTES ? 0 : bytes.readUInt16BE(base + block + 2);
      if (block < last || size < MIN_CELL_BYTES || block + size > usableSize) {
        this.fail(page, `its list of free blocks is damaged at ${block}`, headerAt(page) + 1);
      }
      left -= size;
      last = block + size;
    }
    return left;
  }

  private openLeaf(page: number, ceilingHigh: number, ceilingLow: number): void {
    const { bytes, base, key } = this;
    this.page = page;
    const type = bytes[base + headerAt(page)]!;
    if (type !== TABLE_LEAF) this.failType(page, type);
    this.openPage(this, bytes, base, page, 8);
    if (this.cells === 0) {
      if (this.leafDepth > 0) this.fail(page, 'a leaf without rows');
      return;
    }
    this.readRowid(0);
    const firstHigh = key.high;
    const firstLow = key.low;
    const isAfterOthers = this.isAboveFloor();
    this.readRowid(this.cells - 1);
    if (
      !isAfterOthers ||
      isAbove(firstHigh, firstLow, key.high, key.low) ||
      isAbove(key.high, key.low, ceilingHigh, ceilingLow)
    ) {
      this.fail(page, 'its rowids are not between those of its neighbours');
    }
    this.cellBytes = this.cellBytesOf(bytes, base, this.content, page);
  }

  /** The part of the page header that leaves and interior pages share. */
  private openPage(
    to: { cells: number; pointers: number; content: number },
    bytes: Buffer,
    base: number,
    page: number,
    headerBytes: number,
  ): void {
    const header = headerAt(page);
    to.cells = bytes.readUInt16BE(base + header + 3);
    // The end of a page of 65536 bytes does not fit into two bytes.
    to.content = bytes.readUInt16BE(base + header + 5) || 65_536;
    to.pointers = header + headerBytes;
    if (to.pointers + 2 * to.cells > to.content || to.content > this.reader.geometry.usableSize) {
      this.fail(page, `its header states ${to.cells} cells and that they begin at ${to.content}`, header + 3);
    }
  }

  /** Where a cell begins, from the start of its page. */
  private cellAt(bytes: Buffer, base: number, of: { pointers: number; content: number }, index: number, page: number) {
    const cell = bytes.readUInt16BE(base + of.pointers + 2 * index);
    if (cell < of.content || cell > this.reader.geometry.usableSize - MIN_CELL_BYTES) this.failCell(page, index, cell);
    return cell;
  }

  private readRowid(index: number): void {
    const { bytes, base, page, key } = this;
    const cell = this.cellAt(bytes, base, this, index, page);
    const at = key.read(bytes, base + cell);
    if (key.read(bytes, at) - base > this.reader.geometry.usableSize) this.failCell(page, index, cell);
  }

  private isAboveFloor(): boolean {
    return isAbove(this.key.high, this.key.low, this.floorHigh, this.floorLow);
  }

  private levelAt(depth: number): Level {
    this.levels[depth] ??= {
      bytes: Buffer.alloc(this.reader.geometry.pageSize + SLACK_BYTES),
      page: 0,
      cells: 0,
      pointers: 0,
      content: 0,
      next: 0,
      keyHigh: 0,
      keyLow: 0,
      ceilingHigh: 0,
      ceilingLow: 0,
    };
    return this.levels[depth];
  }

  private failType(page: number, type: number): never {
    const isIndex = type === INDEX_INTERIOR || type === INDEX_LEAF;
    const isTable = type === TABLE_INTERIOR || type === TABLE_LEAF;
    const what = isIndex
      ? 'it belongs to an index'
      : isTable
        ? 'it is not as deep as the others'
        : `its type is ${type}`;
    this.fail(page, `no page of this table: ${what}`, headerAt(page));
  }

  private failCell(page: number, index: number, cell: number): never {
    this.fail(page, `cell ${index} at byte ${cell} is not within it`, cell);
  }

  private fail(page: number, fact: string, within = 0): never {
    throw new Damage(`page ${page}: ${fact}`, (page - 1) * this.reader.geometry.pageSize + within);
  }
}

/** Page 1 begins with the header of the file. */
function headerAt(page: number): number {
  return page === 1 ? 100 : 0;
}

function isAbove(high: number, low: number, otherHigh: number, otherLow: number): boolean {
  return high > otherHigh || (high === otherHigh && low > otherLow);
}
