/** Walks the syntax trees of the program. What it computes is nothing; what it allocates, frees and waits for is everything. */

import { MODULE_CALL } from '../../simulate/call-sites/sources.js';
import type { Argument, Expression, Module, Statement } from '../language/ast.js';
import { compare, isTrue, typeName } from './comparisons.js';
import { Importer, type Library } from './importer.js';
import { runFunctionApply } from './library/autograd-function.js';
import { BUILTINS } from './library/builtins.js';
import { arithmetic } from './library/pointwise.js';
import { attributeOfTensor, setAttributeOfTensor } from './library/tensor.js';
import type { Machine } from './machine.js';
import {
  Bound,
  Class,
  Dict,
  Func,
  Instance,
  type Keywords,
  List,
  letGo,
  Namespace,
  Native,
  retain,
  Scope,
  Super,
  Tensor,
  type Value,
} from './values.js';

type Outcome = { readonly value: Value } | undefined;

/** Functions that look at the code running around them, which natives cannot. */
const SUPER = 'super';

export class Interpreter {
  private readonly machine: Machine;
  private readonly importer: Importer;

  /** `roots`: directories that hold packages. */
  constructor(machine: Machine, library: Library, roots: readonly string[]) {
    this.machine = machine;
    this.importer = new Importer(machine, library, roots, (module, scope) => this.runModule(module, scope));
  }

  /** Runs a script: a file relative to the repository. */
  runScript(file: string): void {
    const scope = new Scope(null);
    scope.variables.set('__name__', '__main__');
    this.runModule(this.importer.parse(file), scope);
  }

  private runModule(module: Module, scope: Scope): void {
    this.machine.stack.enter('<module>', module);
    this.runBody(module.body, { module, scope, owner: null });
    this.machine.stack.leave();
  }

  // ---- statements

  private runBody(body: readonly Statement[], at: Place): Outcome {
    for (const statement of body) {
      const outcome = this.run(statement, at);
      if (outcome !== undefined) return outcome;
    }
    return undefined;
  }

  private run(statement: Statement, at: Place): Outcome {
    const { machine } = this;
    machine.stack.at(statement.line);
    switch (statement.kind) {
      case 'function': {
        const isFused = statement.decorators.includes('jit_fuser');
        const made = new Func(statement, at.module, at.scope, at.owner, isFused);
        retain(made);
        at.scope.variables.set(statement.name, made);
        return undefined;
      }
      case 'class':
        this.defineClass(statement, at);
        return undefined;
      case 'import':
        this.importStatement(statement.module, statement.as, at);
        return undefined;
      case 'from':
        this.fromStatement(statement, at);
        return undefined;
      case 'assign':
        this.assign(statement.target, this.evaluate(statement.value, at), at);
        return undefined;
      case 'delete':
        for (const target of statement.targets) this.deleteTarget(target, at);
        return undefined;
      case 'return':
        return { value: statement.value === null ? null : this.evaluate(statement.value, at) };
      case 'expression':
        machine.dispose(this.evaluate(statement.value, at));
        return undefined;
      case 'for':
        return this.runLoop(statement, at);
      case 'if':
        return this.runBody(this.test(statement.test, at) ? statement.body : statement.orElse, at);
      case 'with':
        return this.runWith(statement, at);
      case 'assert': {
        if (this.test(statement.test, at)) return undefined;
        const message = statement.message === null ? '' : `: ${String(this.evaluate(statement.message, at))}`;
        return machine.raise(`AssertionError${message}`);
      }
      case 'raise':
        return this.raiseValue(this.evaluate(statement.value, at));
      case 'pass':
        return undefined;
    }
  }

  private raiseValue(value: Value): never {
    if (!(value instanceof Instance)) return this.machine.raise('TypeError: exceptions must derive from BaseException');
    const text = value.attributes.get('message');
    return this.machine.raise(typeof text === 'string' ? `${value.of.name}: ${text}` : value.of.name);
  }

  private defineClass(statement: Extract<Statement, { kind: 'class' }>, at: Place): void {
    const bases = statement.bases.map((base) => {
      const value = this.evaluate(base, at);
      return value instanceof Class ? value : this.machine.raise('TypeError: bases must be types');
    });
    const made = new Class(statement.name, bases);
    const scope = new Scope(at.scope);
    this.runBody(statement.body, { module: at.module, scope, owner: made });
    for (const [name, value] of scope.variables) {
      made.members.set(name, value);
      if (value instanceof Func && value.definition.decorators.includes('staticmethod')) made.statics.add(name);
    }
    at.scope.variables.set(statement.name, made);
  }

  private importStatement(name: string, as: string | null, at: Place): void {
    const parts = name.split('.');
    for (let i = 1; i <= parts.length; i += 1) this.importer.importModule(parts.slice(0, i).join('.'));
    const bound = as === null ? parts[0]! : name;
    at.scope.variables.set(as ?? parts[0]!, this.importer.importModule(bound));
  }

  private fromStatement({ module, names }: Extract<Statement, { kind: 'from' }>, at: Place): void {
    for (const { name, as } of names) {
      const value = this.importer.member(module, name);
      retain(value);
      at.scope.variables.set(as, value);
    }
  }

  private runLoop(statement: Extract<Statement, { kind: 'for' }>, at: Place): Outcome {
    const { machine } = this;
    const iterable = this.evaluate(statement.iterable, at);
    if (!(iterable instanceof List)) return machine.raise(`TypeError: '${typeName(iterable)}' object is not iterable`);
    retain(iterable);
    for (const item of [...iterable.items]) {
      machine.stack.at(statement.line);
      this.assign(statement.target, item, at);
      const outcome = this.runBody(statement.body, at);
      if (outcome !== undefined) {
        retain(outcome.value);
        machine.release(iterable);
        letGo(outcome.value);
        return outcome;
      }
    }
    machine.release(iterable);
    return undefined;
  }

  private runWith(statement: Extract<Statement, { kind: 'with' }>, at: Place): Outcome {
    const context = this.evaluate(statement.context, at);
    this.callMethod(context, '__enter__', []);
    const outcome = this.runBody(statement.body, at);
    this.callMethod(context, '__exit__', []);
    return outcome;
  }

  private deleteTarget(target: Expression, at: Place): void {
    if (target.kind !== 'name') this.machine.raise('SyntaxError: only names can be deleted here');
    else {
      const value = at.scope.variables.get(target.name);
      if (value === undefined) this.machine.raise(unbound(target.name, at));
      at.scope.variables.delete(target.name);
      this.machine.release(value!);
    }
  }

  private assign(target: Expression, value: Value, at: Place): void {
    const { machine } = this;
    switch (target.kind) {
      case 'name': {
        retain(value);
        const old = at.scope.variables.get(target.name);
        at.scope.variables.set(target.name, value);
        if (old !== undefined) machine.release(old);
        return;
      }
      case 'attribute': {
        const of = this.evaluate(target.of, at);
        this.setAttribute(of, target.name, value);
        return;
      }
      case 'subscript': {
        const of = this.evaluate(target.of, at);
        const index = this.evaluate(target.index, at);
        if (!(of instanceof Dict) || (typeof index !== 'string' && typeof index !== 'number')) {
          throw machine.exception(`TypeError: '${typeName(of)}' object does not support item assignment`);
        }
        retain(value);
        const old = of.entries.get(index);
        of.entries.set(index, value);
        if (old !== undefined) machine.release(old);
        return;
      }
      case 'tuple':
      case 'list': {
        if (!(value instanceof List))
          throw machine.exception(`TypeError: cannot unpack non-iterable ${typeName(value)} object`);
        const { length } = target.items;
        if (value.items.length !== length) {
          const word = value.items.length > length ? 'too many' : 'not enough';
          throw machine.exception(`ValueError: ${word} values to unpack (expected ${length})`);
        }
        for (const [i, item] of [...value.items].entries()) this.assign(target.items[i]!, item, at);
        machine.dispose(value);
        return;
      }
      default:
        throw machine.exception('SyntaxError: cannot assign to expression');
    }
  }

  private setAttribute(of: Value, name: string, value: Value): void {
    const { machine } = this;
    if (of instanceof Tensor) {
      setAttributeOfTensor(machine, of, name, value);
      return;
    }
    if (!(of instanceof Instance))
      throw machine.exception(`AttributeError: '${typeName(of)}' object has no attribute '${name}'`);
    retain(value);
    const old = of.attributes.get(name);
    of.attributes.set(name, value);
    if (old !== undefined) machine.release(old);
  }

  // ---- expressions

  private test(expression: Expression, at: Place): boolean {
    const value = this.evaluate(expression, at);
    const result = isTrue(value);
    this.machine.dispose(value);
    return result;
  }

  /** Results that nobody holds yet belong to the caller. */
  private evaluate(expression: Expression, at: Place): Value {
    const { machine } = this;
    switch (expression.kind) {
      case 'constant':
        return expression.value;
      case 'name':
        return this.lookUp(expression.name, at);
      case 'attribute':
        return this.attribute(this.evaluate(expression.of, at), expression.name);
      case 'subscript':
        return this.subscript(this.evaluate(expression.of, at), this.evaluate(expression.index, at));
      case 'call':
        return this.evaluateCall(expression, at);
      case 'list':
      case 'tuple':
        return new List(expression.items.map((item) => this.evaluate(item, at)));
      case 'dict': {
        const dict = new Dict();
        for (const [key, value] of expression.entries) {
          const item = this.evaluate(value, at);
          retain(item);
          dict.entries.set(this.evaluate(key, at) as string, item);
        }
        return dict;
      }
      case 'comprehension':
        return this.comprehension(expression, at);
      case 'unary': {
        if (expression.operator === 'not') return !this.test(expression.operand, at);
        const value = this.evaluate(expression.operand, at);
        return typeof value === 'number' ? -value : machine.raise(`TypeError: bad operand type: '${typeName(value)}'`);
      }
      case 'binary': {
        const left = this.evaluate(expression.left, at);
        const right = this.evaluate(expression.right, at);
        machine.stack.at(expression.line);
        const result = arithmetic(machine, expression.operator, left, right);
        for (const operand of [left, right]) if (operand !== result) machine.dispose(operand);
        return result;
      }
      case 'compare':
        return compare(
          machine,
          expression.operator,
          this.evaluate(expression.left, at),
          this.evaluate(expression.right, at),
        );
      case 'logical': {
        const left = this.evaluate(expression.left, at);
        const decides = isTrue(left) === (expression.operator === 'or');
        return decides ? left : this.evaluate(expression.right, at);
      }
      case 'choice':
        return this.evaluate(this.test(expression.test, at) ? expression.yes : expression.no, at);
    }
  }

  private lookUp(name: string, at: Place): Value {
    for (let scope: Scope | null = at.scope; scope !== null; scope = scope.outer) {
      const value = scope.variables.get(name);
      if (value !== undefined) return value;
    }
    const builtin = BUILTINS.get(name);
    if (builtin !== undefined) return builtin;
    return this.machine.raise(`NameError: name '${name}' is not defined`);
  }

  private attribute(of: Value, name: string): Value {
    const found = this.findAttribute(of, name);
    if (found !== undefined) return found;
    if (of instanceof Namespace)
      return this.machine.raise(`AttributeError: module '${of.name}' has no attribute '${name}'`);
    const owner = of instanceof Class ? `type object '${of.name}'` : `'${typeName(of)}' object`;
    return this.machine.raise(`AttributeError: ${owner} has no attribute '${name}'`);
  }

  private findAttribute(of: Value, name: string): Value | undefined {
    if (of instanceof Namespace) return of.scope.variables.get(name) ?? this.importer.submodule(of, name);
    if (of instanceof Instance) {
      const own = of.attributes.get(name);
      if (own !== undefined) return own;
      return bind(of, of.of.lineage, name);
    }
    if (of instanceof Class) {
      if (name === 'apply' && of.isA('Function')) return new Bound(of, this.functionApply);
      return bind(null, of.lineage, name);
    }
    if (of instanceof Super) return bind(of.self, of.of.lineage.slice(1), name);
    return attributeOfTensor(this.machine, of, name);
  }

  private readonly functionApply = new Native('apply', (machine, [of, ...args]) =>
    runFunctionApply(machine, of as Class, args, (callee, values) => this.call(callee, values)),
  );

  private subscript(of: Value, index: Value): Value {
    const { machine } = this;
    if (of instanceof List && typeof index === 'number') {
      const item = of.items.at(index);
      if (item === undefined) return machine.raise('IndexError: list index out of range');
      retain(item);
      machine.dispose(of);
      letGo(item);
      return item;
    }
    if (of instanceof Dict) {
      const item = of.entries.get(index as string);
      return item === undefined ? machine.raise(`KeyError: '${String(index)}'`) : item;
    }
    return machine.raise(`TypeError: '${typeName(of)}' object is not subscriptable`);
  }

  private comprehension(expression: Extract<Expression, { kind: 'comprehension' }>, at: Place): Value {
    const iterable = this.evaluate(expression.iterable, at);
    if (!(iterable instanceof List))
      return this.machine.raise(`TypeError: '${typeName(iterable)}' object is not iterable`);
    const inner: Place = { ...at, scope: new Scope(at.scope) };
    retain(iterable);
    const items: Value[] = [];
    for (const item of iterable.items) {
      this.assign(expression.target, item, inner);
      if (expression.condition !== null && !this.test(expression.condition, inner)) continue;
      const value = this.evaluate(expression.item, inner);
      retain(value);
      items.push(value);
    }
    const list = new List(items);
    for (const item of items) letGo(item);
    for (const value of inner.scope.variables.values()) this.machine.release(value);
    this.machine.release(iterable);
    return list;
  }

  // ---- calls

  private evaluateCall(expression: Extract<Expression, { kind: 'call' }>, at: Place): Value {
    const { machine } = this;
    if (expression.callee.kind === 'name' && expression.callee.name === SUPER) {
      return new Super(at.owner!, at.scope.variables.get('self')!);
    }
    const receiver = expression.callee.kind === 'attribute' ? this.evaluate(expression.callee.of, at) : undefined;
    const callee =
      expression.callee.kind === 'attribute'
        ? this.attribute(receiver!, expression.callee.name)
        : this.evaluate(expression.callee, at);
    const { args, keywords } = this.argumentsOf(expression.arguments, at);
    machine.stack.at(expression.line);
    const result = this.call(callee, args, keywords);
    machine.stack.at(expression.line);
    for (const value of [...args, ...keywords.values(), ...(receiver === undefined ? [] : [receiver])]) {
      if (value !== result) machine.dispose(value);
    }
    return result;
  }

  private argumentsOf(list: readonly Argument[], at: Place): { args: Value[]; keywords: Map<string, Value> } {
    const args: Value[] = [];
    const keywords = new Map<string, Value>();
    for (const { name, isStarred, value } of list) {
      const evaluated = this.evaluate(value, at);
      if (name !== null) keywords.set(name, evaluated);
      else if (isStarred && evaluated instanceof List) args.push(...evaluated.items);
      else args.push(evaluated);
    }
    return { args, keywords };
  }

  call(callee: Value, args: readonly Value[], keywords: Keywords = NO_KEYWORDS): Value {
    const { machine } = this;
    if (callee instanceof Native) return callee.body(machine, args, keywords);
    if (callee instanceof Func) return this.callFunction(callee, args, keywords);
    if (callee instanceof Bound) return this.call(callee.callee, [callee.self, ...args], keywords);
    if (callee instanceof Class) return this.construct(callee, args, keywords);
    if (callee instanceof Instance) {
      if (callee.of.isA('Module')) {
        return machine.within(MODULE_CALL, () => this.callMethod(callee, 'forward', args, keywords));
      }
      return this.callMethod(callee, '__call__', args, keywords);
    }
    return machine.raise(`TypeError: '${typeName(callee)}' object is not callable`);
  }

  private callMethod(of: Value, name: string, args: readonly Value[], keywords: Keywords = NO_KEYWORDS): Value {
    return this.call(this.attribute(of, name), args, keywords);
  }

  private construct(of: Class, args: readonly Value[], keywords: Keywords): Value {
    const made = new Instance(of);
    const initialise = bind(made, of.lineage, '__init__');
    if (initialise !== undefined) this.call(initialise, args, keywords);
    if (of.isA('Module')) this.machine.model = made;
    return made;
  }

  private callFunction(of: Func, args: readonly Value[], keywords: Keywords): Value {
    const { machine } = this;
    const scope = new Scope(of.scope);
    const place: Place = { module: of.module, scope, owner: of.owner };
    this.bindParameters(of, args, keywords, place);
    machine.stack.enter(of.definition.name, of.module);
    machine.stack.at(of.definition.line);
    if (of.isFused) machine.fusing += 1;
    const result = this.runBody(of.definition.body, place)?.value ?? null;
    if (of.isFused) machine.fusing -= 1;
    if (of.isFused && machine.fusing === 0) machine.materialise(result);
    retain(result);
    this.leaveScope(scope, result);
    letGo(result);
    machine.stack.leave();
    return result;
  }

  /** A function that is returned keeps the variables of the call that made it. */
  private leaveScope(scope: Scope, result: Value): void {
    const variables = [...scope.variables.values()];
    const returned = result instanceof List ? result.items : [result];
    const closure = returned.find((value): value is Func => value instanceof Func && value.scope === scope);
    if (closure !== undefined) closure.captured = variables.filter((value) => value !== closure);
    for (const value of variables) if (closure === undefined || value === closure) this.machine.release(value);
  }

  private bindParameters(of: Func, args: readonly Value[], keywords: Keywords, at: Place): void {
    const { machine } = this;
    const { name, parameters } = of.definition;
    const given = new Map(keywords);
    let position = 0;
    for (const parameter of parameters) {
      let value: Value | undefined;
      if (parameter.isStarred) {
        value = new List(args.slice(position));
        position = args.length;
      } else if (position < args.length) {
        value = args[position];
        position += 1;
      } else if (given.has(parameter.name)) {
        value = given.get(parameter.name);
        given.delete(parameter.name);
      } else if (parameter.default !== null) value = this.evaluate(parameter.default, { ...at, scope: of.scope });
      if (value === undefined) {
        machine.raise(`TypeError: ${name}() missing 1 required positional argument: '${parameter.name}'`);
      }
      retain(value!);
      at.scope.variables.set(parameter.name, value!);
    }
    const [unexpected] = given.keys();
    if (unexpected !== undefined)
      machine.raise(`TypeError: ${name}() got an unexpected keyword argument '${unexpected}'`);
    if (position < args.length) {
      machine.raise(
        `TypeError: ${name}() takes ${parameters.length} positional arguments but ${args.length} were given`,
      );
    }
  }
}

const NO_KEYWORDS: Keywords = new Map();

interface Place {
  readonly module: Module;
  readonly scope: Scope;
  /** The class whose method runs. */
  readonly owner: Class | null;
}

function bind(self: Value, lineage: readonly Class[], name: string): Value | undefined {
  for (const of of lineage) {
    const member = of.members.get(name);
    if (member === undefined) continue;
    const isCallable = member instanceof Func || member instanceof Native;
    return self !== null && isCallable && !of.statics.has(name) ? new Bound(self, member) : member;
  }
  return undefined;
}

function unbound(name: string, { scope }: Place): string {
  const isLocal = scope.outer !== null;
  return isLocal
    ? `UnboundLocalError: cannot access local variable '${name}' where it is not associated with a value`
    : `NameError: name '${name}' is not defined`;
}
