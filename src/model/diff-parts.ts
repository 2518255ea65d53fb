/** Parts of a difference that several results contain. */
import type { RowOf } from './results/row-of.js';
import type { Component } from './vocabulary.js';

/**
 * How sure it is that a line of b is that line of a: the same function, file and line; another line; another file (or a
 * file that moved); another name; or only one side has it.
 */
export type SiteMatch = 'exact' | 'line_shifted' | 'moved' | 'renamed' | 'only_a' | 'only_b';

/** See `mbforensics attribute`. */
export interface DiffComponent {
  readonly component: Component;
  readonly a_bytes: number;
  readonly b_bytes: number;
  readonly delta_bytes: number;
}

export interface DiffSite
  extends Pick<
      RowOf<'diff.memory'>,
      'a_site' | 'b_site' | 'a_bytes' | 'b_bytes' | 'delta_bytes' | 'a_count' | 'b_count'
    >,
    Pick<RowOf<'diff.memory'>, 'delta_count'> {
  /** As b names it, or a where b has it not. */
  readonly site: string;
  readonly match: SiteMatch;
  /** A function that only one side has, through which it allocates here. */
  readonly through: string | null;
  /** Block sizes whose number differs, the most bytes first; at most five. */
  readonly sizes: readonly { readonly size_bytes: number; readonly a_count: number; readonly b_count: number }[];
  /**
   * Where calls of this site come to differ, seen from the site outwards: callers with their part of the difference;
   * empty if there is one way in.
   */
  readonly callers: readonly {
    readonly caller: string;
    readonly a_bytes: number;
    readonly b_bytes: number;
    readonly delta_bytes: number;
  }[];
}
