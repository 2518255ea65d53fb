/** The Python stack of the training process: frames of the program as it is checked out, and of libraries that have no file here. */
import type { CallPath, CodeLine } from '../../simulate/code-line.js';
import type { Module } from '../language/ast.js';

interface Frame {
  readonly name: string;
  readonly module: Module | null;
  /** Of a library frame, which stands where it stands. */
  readonly fixed: CodeLine | null;
  line: number;
}

export class CallStack {
  /** Threads that wait for one another: autograd runs backward on its own. The last one runs. */
  private readonly threads: Frame[][] = [[]];
  private readonly mount: string;
  /** Torch shares one frame per (code object, line). */
  private readonly known = new Map<Module, Map<string, CodeLine>>();

  /** `mount`: where the repository lies inside the container, with a slash at the end. */
  constructor(mount: string) {
    this.mount = mount;
  }

  /** A file of the repository as the process names it. */
  pathOf(file: string): string {
    return this.mount + file;
  }

  enter(name: string, module: Module): void {
    this.running.push({ name, module, fixed: null, line: 0 });
  }

  leave(): void {
    this.running.pop();
  }

  /** The line that runs now. */
  at(line: number): void {
    const top = this.running.at(-1);
    if (top !== undefined) top.line = line;
  }

  get line(): number {
    return this.running.at(-1)?.line ?? 0;
  }

  /** Runs `body` inside frames of libraries, innermost first. */
  within<T>(frames: CallPath, body: () => T): T {
    for (const fixed of frames.toReversed()) {
      this.running.push({ name: fixed.name, module: null, fixed, line: fixed.line });
    }
    const result = body();
    this.running.length -= frames.length;
    return result;
  }

  /** Runs `body` on another thread. */
  onThread<T>(body: () => T): T {
    this.threads.push([]);
    const result = body();
    this.threads.pop();
    return result;
  }

  /** Of the thread that runs: what a recording has. */
  path(): CallPath {
    return this.linesOf(this.running);
  }

  /** Of all threads that wait for the one that runs: what a traceback has. */
  traceback(): CallPath {
    return this.threads.toReversed().flatMap((frames) => this.linesOf(frames));
  }

  get isInBackward(): boolean {
    return this.threads.length > 1;
  }

  private get running(): Frame[] {
    return this.threads.at(-1)!;
  }

  private linesOf(frames: readonly Frame[]): CodeLine[] {
    const lines: CodeLine[] = [];
    for (let i = frames.length - 1; i >= 0; i -= 1) lines.push(this.codeLine(frames[i]!));
    return lines;
  }

  private codeLine({ name, module, fixed, line }: Frame): CodeLine {
    if (fixed !== null) return fixed;
    let lines = this.known.get(module!);
    if (lines === undefined) {
      lines = new Map();
      this.known.set(module!, lines);
    }
    const key = `${line} ${name}`;
    let found = lines.get(key);
    if (found === undefined) {
      const source = (module!.lines[line - 1] ?? '').trim();
      found = { name, filename: this.pathOf(module!.file), line, source };
      lines.set(key, found);
    }
    return found;
  }
}
