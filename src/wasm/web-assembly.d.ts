/** The part of the WebAssembly API that is used: types of it come with those of browsers only. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    readonly exports: unknown;
    constructor(module: Module, imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>);
  }
  interface Memory {
    readonly buffer: ArrayBuffer;
  }
  /** A trap. */
  class RuntimeError extends Error {}
}
