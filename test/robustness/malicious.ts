/** Pickles that run a shell command when Python loads them, and every other opcode that imports, calls or builds. */

import { OP, pickled, Raw } from '../../samples/generate/write/pickle-writer.js';
import { snapshot } from '../support/small-snapshot.js';
import { op, word } from './hostile-pickles.js';

export interface Malicious {
  readonly bytes: Buffer;
  /** Offset and name of the opcode that must be refused: the first of its kind. */
  readonly offset: number;
  readonly opcode: string;
}

const line = (words: string): Buffer => Buffer.from(words, 'latin1');

/** A legal snapshot one of whose settings is `before`, the refused `opcode` and `after`. */
function within(opcode: string, before: Buffer, code: number, after: Buffer = op()): Malicious {
  const marker = word('here it comes');
  const raw = Buffer.concat([marker, op(OP.POP), before, op(code), after]);
  const bytes = pickled(snapshot({ allocator_settings: { odd: new Raw(raw) } }));
  return { bytes, offset: bytes.indexOf(marker) + marker.length + 1 + before.length, opcode };
}

const arguments_ = (command: string): Buffer => Buffer.concat([word(command), op(OP.TUPLE1)]);

/** These fire in CPython, which a test proves. */
export const FIRING: Readonly<Record<string, (command: string) => Malicious>> = {
  GLOBAL: (command) =>
    within('GLOBAL', op(), OP.GLOBAL, Buffer.concat([line('posix\nsystem\n'), arguments_(command), op(OP.REDUCE)])),
  STACK_GLOBAL: (command) =>
    within(
      'STACK_GLOBAL',
      Buffer.concat([word('posix'), word('system')]),
      OP.STACK_GLOBAL,
      Buffer.concat([arguments_(command), op(OP.REDUCE)]),
    ),
  INST: (command) => within('INST', Buffer.concat([op(OP.MARK), word(command)]), OP.INST, line('posix\nsystem\n')),
  // OBJ takes its class from the stack, so something else must have put it there: the import is refused before the
  // call.
  OBJ_OF_GLOBAL: (command) =>
    within('GLOBAL', op(OP.MARK), OP.GLOBAL, Buffer.concat([line('posix\nsystem\n'), word(command), op(OP.OBJ)])),
};

/** Each refused opcode by itself, where the import that Python would need before it is left out. */
export const REFUSED_ALONE: readonly Malicious[] = [
  within('REDUCE', Buffer.concat([word('system'), op(OP.EMPTY_TUPLE)]), OP.REDUCE),
  within('BUILD', op(OP.EMPTY_DICT, OP.EMPTY_DICT), OP.BUILD),
  within('OBJ', Buffer.concat([op(OP.MARK), word('system'), word('true')]), OP.OBJ),
  within('NEWOBJ', Buffer.concat([word('system'), op(OP.EMPTY_TUPLE)]), OP.NEWOBJ),
  within('NEWOBJ_EX', Buffer.concat([word('system'), op(OP.EMPTY_TUPLE, OP.EMPTY_DICT)]), OP.NEWOBJ_EX),
  within('EXT1', op(), OP.EXT1, op(1)),
  within('EXT2', op(), OP.EXT2, op(1, 0)),
  within('EXT4', op(), OP.EXT4, op(1, 0, 0, 0)),
  within('PERSID', op(), OP.PERSID, line('some id\n')),
  within('BINPERSID', op(OP.NONE), OP.BINPERSID),
  within('BYTEARRAY8', op(), OP.BYTEARRAY8, op(1, 0, 0, 0, 0, 0, 0, 0, 65)),
  within('NEXT_BUFFER', op(), OP.NEXT_BUFFER),
  within('READONLY_BUFFER', op(OP.NONE), OP.READONLY_BUFFER),
];
