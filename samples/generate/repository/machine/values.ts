/**
 * What the interpreted training code works with. Python frees a tensor with the last reference to it, and that moment is what memory is about, so
 * tensors and the collections that hold them count theirs. Everything else lives as long as the run.
 */
import type { Block } from '../../../../src/allocator/caching/block.js';
import type { Traceback } from '../../simulate/rank-process.js';
import type { FunctionDefinition, Module } from '../language/ast.js';
import type { Node } from './autograd.js';
import type { Machine } from './machine.js';

export type Value =
  | null
  | boolean
  | number
  | string
  | DType
  | Tensor
  | List
  | Dict
  | Instance
  | Class
  | Func
  | Native
  | Bound
  | Super
  | Namespace;

export class DType {
  readonly name: string;
  readonly bytes: number;
  constructor(name: string, bytes: number) {
    this.name = name;
    this.bytes = bytes;
  }
}

export const FLOAT32 = new DType('torch.float32', 4);
export const BFLOAT16 = new DType('torch.bfloat16', 2);
export const INT64 = new DType('torch.int64', 8);
export const BOOL = new DType('torch.bool', 1);

/** Memory of tensors; views share one. */
export class Storage {
  /** Tensors on it. */
  refs = 0;
  /** Null: on the host, or a value inside a fused kernel that is never stored. */
  readonly block: Block<Traceback> | null;
  constructor(block: Block<Traceback> | null) {
    this.block = block;
  }
}

export class Tensor {
  refs = 0;
  isFreed = false;
  readonly shape: readonly number[];
  readonly dtype: DType;
  storage: Storage;
  /** The operation that made it, if a gradient will flow back through it. */
  node: Node | null = null;
  requiresGrad = false;
  isParameter = false;
  /** `.grad`, `.main_grad`. */
  readonly attributes = new Map<string, Value>();

  constructor(shape: readonly number[], dtype: DType, storage: Storage) {
    this.shape = shape;
    this.dtype = dtype;
    this.storage = storage;
    storage.refs += 1;
  }

  get elements(): number {
    return this.shape.reduce((product, size) => product * size, 1);
  }

  get bytes(): number {
    return this.elements * this.dtype.bytes;
  }

  /** Rows of a matrix: tokens. */
  get rows(): number {
    return this.elements / this.width;
  }

  get width(): number {
    return this.shape.at(-1) ?? 1;
  }

  get isOnDevice(): boolean {
    return this.storage.block !== null;
  }
}

/** Lists and tuples. */
export class List {
  refs = 0;
  readonly items: Value[];
  constructor(items: readonly Value[]) {
    this.items = [...items];
    for (const item of items) retain(item);
  }
}

export class Dict {
  readonly entries = new Map<string | number, Value>();
}

export class Class {
  readonly name: string;
  readonly members = new Map<string, Value>();
  readonly statics = new Set<string>();
  /** The class itself first, then its bases. */
  readonly lineage: readonly Class[];
  constructor(name: string, bases: readonly Class[]) {
    this.name = name;
    this.lineage = [this, ...bases.flatMap((base) => base.lineage)];
  }

  isA(name: string): boolean {
    return this.lineage.some((ancestor) => ancestor.name === name);
  }
}

export class Instance {
  readonly of: Class;
  readonly attributes = new Map<string, Value>();
  constructor(of: Class) {
    this.of = of;
  }
}

/** Variables of a call, of what it is nested in, and of its module. */
export class Scope {
  readonly variables = new Map<string, Value>();
  readonly outer: Scope | null;
  constructor(outer: Scope | null) {
    this.outer = outer;
  }
}

export class Func {
  readonly definition: FunctionDefinition;
  readonly module: Module;
  /** Where it was defined. */
  readonly scope: Scope;
  /** Of a method: whose `super()` it means. */
  readonly owner: Class | null;
  readonly isFused: boolean;
  refs = 0;
  /** Variables of the call that made it, which live as long as it does; null for functions of modules and classes. */
  captured: readonly Value[] | null = null;
  constructor(definition: FunctionDefinition, module: Module, scope: Scope, owner: Class | null, isFused: boolean) {
    this.definition = definition;
    this.module = module;
    this.scope = scope;
    this.owner = owner;
    this.isFused = isFused;
  }
}

export type Keywords = ReadonlyMap<string, Value>;
/** Borrows its arguments: the caller frees those that nobody else holds. */
export type NativeBody = (machine: Machine, args: readonly Value[], keywords: Keywords) => Value;

export class Native {
  readonly name: string;
  readonly body: NativeBody;
  constructor(name: string, body: NativeBody) {
    this.name = name;
    this.body = body;
  }
}

export class Bound {
  readonly self: Value;
  readonly callee: Func | Native;
  constructor(self: Value, callee: Func | Native) {
    this.self = self;
    this.callee = callee;
  }
}

/** What `super()` returns: never more than the receiver of a call. */
export class Super {
  readonly of: Class;
  readonly self: Value;
  constructor(of: Class, self: Value) {
    this.of = of;
    this.self = self;
  }
}

/** A module of the program or of the library. */
export class Namespace {
  readonly name: string;
  readonly scope: Scope;
  constructor(name: string, scope: Scope) {
    this.name = name;
    this.scope = scope;
  }
}

/** What is freed with the last reference to it. */
export type Counted = Tensor | List | Func;

export function isCounted(value: Value): value is Counted {
  return value instanceof Tensor || value instanceof List || value instanceof Func;
}

export function retain(value: Value): void {
  if (isCounted(value)) value.refs += 1;
}

/** Takes back a hold that was only meant to keep a value alive for a moment: it is not freed, but may belong to nobody then. */
export function letGo(value: Value): void {
  if (isCounted(value)) value.refs -= 1;
}
