/**
 * Pages of a database, most of them out of one read of many.
 *
 * Leaf pages of a table that was written in one go follow each other, and reading them singly makes a scan a fifth
 * slower (1,048,576 bytes against 4096, measured in the page cache; on a network more). Leaf pages of a table that grew
 * in random order do not, and reading a megabyte for each would read the file a hundred times over. So the window
 * doubles as long as a quarter of its pages is used, which finds tables whose pages alternate with others, and falls
 * back to a single page when it is not.
 */
import type { RandomAccess } from '../model/parser.js';
import { Damage } from './damage.js';
import type { DatabaseGeometry } from './database-header.js';

const WINDOW_BYTES = 1_048_576;
/**
 * Zeros after the last page, so that a varint or an integer that begins in a page can be read before its end is
 * checked.
 */
export const SLACK_BYTES = 32;

export class PageReader {
  readonly geometry: DatabaseGeometry;
  /** Holds the page that {@link locate} found, until its next call. */
  window: Buffer;
  private readonly access: RandomAccess;
  private firstPage = 1;
  private windowPages = 0;
  private usedPages = 0;
  private wantedPages = 1;

  constructor(access: RandomAccess, geometry: DatabaseGeometry) {
    this.access = access;
    this.geometry = geometry;
    this.window = Buffer.alloc(geometry.pageSize + SLACK_BYTES);
  }

  /** Brings a page into {@link window}; returns where it begins there. */
  locate(page: number, from: number): number {
    const at = this.peek(page);
    if (at >= 0) return at;
    this.check(page, from);
    const { pageSize, pages } = this.geometry;
    if (this.usedPages * 4 >= this.windowPages) {
      this.wantedPages = Math.min(this.wantedPages * 2, Math.max(1, WINDOW_BYTES / pageSize));
    } else this.wantedPages = 1;
    const count = Math.min(this.wantedPages, pages - page + 1);
    if (this.window.length < count * pageSize + SLACK_BYTES) {
      // At once to its full size from the second growth on: a small table stays with a few pages.
      const windowBytes = this.window.length > 8 * pageSize ? Math.max(WINDOW_BYTES, pageSize) : count * pageSize;
      this.window = Buffer.alloc(windowBytes + SLACK_BYTES);
    }
    this.windowPages = 0;
    this.read(this.window.subarray(0, count * pageSize), page);
    this.firstPage = page;
    this.windowPages = count;
    this.usedPages = 1;
    return 0;
  }

  /** Where the page begins in {@link window}, or −1 if it is not there. Never moves the window. */
  peek(page: number): number {
    const index = page - this.firstPage;
    if (index < 0 || index >= this.windowPages) return -1;
    this.usedPages += 1;
    return index * this.geometry.pageSize;
  }

  /** A page by itself, past the window. `target` is as long as a page, or longer by the slack. */
  readInto(target: Buffer, page: number, from: number): void {
    this.check(page, from);
    this.read(target.subarray(0, this.geometry.pageSize), page);
  }

  private read(target: Buffer, page: number): void {
    const { pageSize } = this.geometry;
    const position = (page - 1) * pageSize;
    const length = this.access.readAt(target, position);
    if (length < target.length) {
      const cut = page + Math.floor(length / pageSize);
      throw new Damage(`page ${cut} is cut off: the file ends within it`, position + length);
    }
  }

  /** `from` is the page that points there; 0 is the schema. */
  private check(page: number, from: number): void {
    const { pageSize, pages, statedPages } = this.geometry;
    if (page >= 1 && page <= pages) return;
    const who = from === 0 ? 'the schema' : `page ${from}`;
    const offset = from === 0 ? 0 : (from - 1) * pageSize;
    if (page === 0) throw new Damage(`${who} points to page 0, which is none`, offset);
    const reason = page <= statedPages ? `, of ${statedPages} that its header states: it was cut off` : '';
    throw new Damage(`${who} points to page ${page}, but the file ends after page ${pages}${reason}`, offset);
  }
}
