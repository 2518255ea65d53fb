/** The grammar of failure messages: oom-messages.yaml, which explains its placeholders. */
import type { IncidentKind } from '../model/vocabulary.js';
import { loadData } from './load-data.js';

/** Something to find in a message. All patterns of one name mean the same. */
export interface MessagePiece {
  readonly name: string;
  readonly patterns: readonly string[];
  /**
   * `head`: begins a message. `opens`: belongs to a message, or begins one whose head was cut off or never printed.
   * `follows` (the default): counts only after a head, within the family's gap.
   */
  readonly role?: 'head' | 'opens' | 'follows';
  /** May occur several times in one message (`Process N has …`). */
  readonly repeats?: boolean;
}

/** Wordings that share their pieces: one message text of one producer over all its versions. */
export interface MessageFamily {
  readonly name: string;
  /** Literals of at least eight characters, one of which occurs in every message; all a fast scan looks for. */
  readonly anchors: readonly string[];
  /** A key of the units. */
  readonly units: string;
  readonly pieces: readonly MessagePiece[];
  /** Words near a message that change what it means. */
  readonly contexts?: readonly { readonly name: string; readonly patterns: readonly string[] }[];
  /** The most characters (white space not counted) between two parts of one message. */
  readonly gap: number;
  /** A second head within the gap continues the message instead of beginning another. */
  readonly headsMerge?: boolean;
  /** A bare head without any piece is only believed where an error is being stated; else it is prose. */
  readonly headNeedsStatement?: boolean;
  readonly wordings: readonly MessageWording[];
}

/** One wording. Entries are tried in order within their family; the first whose names all occur wins. */
export interface MessageWording {
  readonly id: string;
  /** What prints it, and since when. `[inf]` marks ranges inferred from messages seen, not read in source. */
  readonly versions: string;
  readonly source: string;
  /** `note`: worth counting, but no failure. */
  readonly kind: IncidentKind | 'note';
  readonly when?: readonly string[];
}

interface Stored {
  /** Bytes per printed unit, by system. */
  readonly units: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Bytes per element of the tensor types that TensorFlow names. */
  readonly tensor_types: Readonly<Record<string, number>>;
  /** Literals after which a later cuBLAS failure is an echo of that assert. */
  readonly device_assert_anchors: readonly string[];
  /** Exception classes that may be glued to the text before them; longest first. */
  readonly exception_classes: readonly string[];
  readonly families: readonly MessageFamily[];
}

/** The data file, read once. */
export const oomGrammar = (): Stored => loadData('oom-messages') as Stored;

/** Every wording with its family, in the order in which they are tried. */
export const oomWordings = (): readonly (MessageWording & { readonly family: MessageFamily })[] =>
  oomGrammar().families.flatMap((family) => family.wordings.map((wording) => ({ ...wording, family })));

/** Grammar id of a text that mentions memory running out without stating that it did. */
export const PROSE_ID = 'prose.mention';
