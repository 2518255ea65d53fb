/**
 * Numbers that the module shares with the readers of snapshots in TypeScript: both compilers read this file.
 *
 * Kinds of values on the stack and in the memo (four bits), and the payload of each.
 */

export const CONST = 0; // payload 0 None, 1 False, 2 True
export const INT = 1; // value in `numbers`
export const STR = 2; // payload: text id
export const DICT = 3; // still empty
export const LIST = 4; // still empty
export const FRAME = 5; // payload: frame id
export const STACK = 6; // payload: stack id
export const ENTRY = 7; // payload: run length of trace entries
export const BLOCK = 8; // payload: run length
export const SEGMENT = 9; // payload: run length
export const ANNOTATION = 10; // payload: run length
export const ROWS = 11; // a list of rows already emitted; payload: their number
export const OBJ = 12; // payload: index into `objects`
export const BIG = 13; // payload: index into `bigs`
export const FLOAT = 14; // value in `numbers`
export const PAIR = 15; // payload: pool id, a tuple of two small ints

/** A word of the memo is a kind above a payload of 28 bits. */
export const KIND_SHIFT = 28;
export const PAYLOAD = 0xfffffff;

/** Texts below this id may be keys or actions. */
export const KNOWN_TEXTS = 64;
/** Frames of one stack. */
export const MOST_STACK_FRAMES = 65_536;

/** Keys of trace entries, as numbers below 32: the keys of a dict are a bit mask. */
export const ACTION_KEY = 1;
export const ADDR_KEY = 2;
export const SIZE_KEY = 3;
export const STREAM_KEY = 4;
export const TIME_KEY = 5;
export const CONTEXT_KEY = 6;
export const METADATA_KEY = 7;
export const FRAMES_KEY = 8;
export const POOL_KEY = 24;
