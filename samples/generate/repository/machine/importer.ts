/** Finds modules by name, in the library first and then among the files of the repository, and runs each once. */
import type { Module } from '../language/ast.js';
import { parseModule } from '../language/parse.js';
import type { Machine } from './machine.js';
import { Namespace, Scope, type Value } from './values.js';

/** Modules of the library, by full name; members by name. */
export type Library = ReadonlyMap<string, ReadonlyMap<string, Value>>;

export class Importer {
  private readonly machine: Machine;
  private readonly library: Library;
  private readonly roots: readonly string[];
  private readonly run: (module: Module, scope: Scope) => void;
  private readonly modules = new Map<string, Namespace>();

  /** `roots`: directories that hold packages, as `PYTHONPATH` lists them. `run`: the body of a module. */
  constructor(
    machine: Machine,
    library: Library,
    roots: readonly string[],
    run: (module: Module, scope: Scope) => void,
  ) {
    this.machine = machine;
    this.library = library;
    this.roots = roots;
    this.run = run;
  }

  parse(file: string): Module {
    return parseModule(this.machine.files.get(file)!, file);
  }

  importModule(name: string): Namespace {
    const known = this.modules.get(name);
    if (known !== undefined) return known;
    const namespace = new Namespace(name, new Scope(null));
    const { variables } = namespace.scope;
    const native = this.library.get(name);
    const file = native === undefined ? this.fileOf(name) : undefined;
    if (native === undefined && file === undefined && !this.isPackage(name)) {
      return this.machine.raise(`ModuleNotFoundError: No module named '${name}'`);
    }
    this.modules.set(name, namespace);
    variables.set('__name__', name);
    for (const [member, value] of native ?? []) variables.set(member, value);
    if (file !== undefined) this.run(this.parse(file), namespace.scope);
    return namespace;
  }

  /** `a.b` as an attribute of `a`: a submodule need not have been imported by name. */
  submodule(of: Namespace, name: string): Namespace | undefined {
    const full = `${of.name}.${name}`;
    const exists = this.library.has(full) || this.fileOf(full) !== undefined || this.isPackage(full);
    return exists ? this.importModule(full) : undefined;
  }

  /** `from module import name`. */
  member(module: string, name: string): Value {
    const from = this.importModule(module);
    const value = from.scope.variables.get(name) ?? this.submodule(from, name);
    if (value !== undefined) return value;
    const file = this.fileOf(module);
    const where = file === undefined ? 'unknown location' : this.machine.stack.pathOf(file);
    return this.machine.raise(`ImportError: cannot import name '${name}' from '${module}' (${where})`);
  }

  private fileOf(name: string): string | undefined {
    const path = name.replaceAll('.', '/');
    for (const root of this.roots) {
      for (const file of [`${root}${path}.py`, `${root}${path}/__init__.py`]) {
        if (this.machine.files.has(file)) return file;
      }
    }
    return undefined;
  }

  private isPackage(name: string): boolean {
    const path = `${name.replaceAll('.', '/')}/`;
    for (const file of this.machine.files.keys()) {
      if (this.roots.some((root) => file.startsWith(root + path))) return true;
    }
    return [...this.library.keys()].some((other) => other.startsWith(`${name}.`));
  }
}
