/**
 * From a stack to the line a reader would name. Frames come innermost first: the unwinder, the allocator, torch's own
 * C++ and Python, then the framework, then the trainer. The site is the first frame that belongs to none of the layers
 * every allocation passes through: Transformer Engine, Megatron, apex and flash-attention count as sites wherever they
 * are installed, torch and decorators do not.
 */

export interface Frame {
  readonly name: string;
  readonly filename: string;
  readonly line: number;
}

/**
 * Frames memory_viz drops too: they are in every stack with C++ frames. Upstream: torch `torch/utils/viz/MemoryViz.js`,
 * `frameFilter`.
 */
const NOISE_NAMES = [
  'unwind::unwind',
  'CapturedTraceback::gather',
  'gather_with_cpp',
  '_start',
  '__libc_start_main',
  'PyEval_',
  'PyObject_',
  'PyFunction_',
];
const NOISE_FILES = [
  'core/boxing',
  '/Register',
  '/Redispatch',
  'pythonrun.c',
  'Modules/main.c',
  'Objects/call.c',
  'Objects/methodobject.c',
  'pycore_ceval.h',
  'ceval.c',
  'cpython/abstract.h',
];

/**
 * The interpreter's, the dispatcher's and the threads' own frames, which upstream's list leaves: between any two Python
 * frames of a stack with C++ frames.
 */
const MACHINERY =
  /^(?:_?Py[A-Z_]\w*|py(?:main|run|thread)_\w+|run_(?:mod|eval_code_obj)|(?:method|cfunction|builtin|bound|slot|type|object|partial|context)_\w{0,80}(?:call|run|tp_\w)\w{0,80}|do_call_core|thread_run|thread_start|start_thread|execute_native_thread_routine|pthread_\w+|clone\d?|__libc_init_first|dynamo_\w{0,80}eval\w{0,80}|c10::impl::(?:wrap_kernel_functor_unboxed_|make_boxed_from_unboxed_functor|BoxedKernelWrapper))(?:$|[.<(])/;

/**
 * What layer a frame is of. `noise`: unwinder, interpreter, dispatcher. `native`: any other C++ frame. `runtime`:
 * standard library, notebooks, decorators and packages that only pass calls on. `torch`: torch and Triton themselves.
 * `generated`: what torch.compile wrote. `code`: the rest.
 */
export type FrameKind = 'noise' | 'native' | 'runtime' | 'torch' | 'generated' | 'code';

/** Python and TorchScript frames; C++ frames end in `.cpp`, `.h`, `.c`, or have no file. */
const PYTHON_FILE = /\.pyw?$|^</;
const INSTALLED = /(?:site|dist)-packages\//g;
const STANDARD_LIBRARY =
  /(?:^|\/)lib(?:64)?\/python\d[\d.]*\/(?!(?:site|dist)-packages\/|torch\/)|^<(?:frozen|decorator-gen|__array_function__|attrs generated)/;
/**
 * Written by torch.compile: Inductor's code, Triton's launchers, FX graphs (`fx_generated_*.py` since 2.10,
 * `<eval_with_key>` before).
 */
const GENERATED =
  /\/torchinductor(?:_[^/]*)?\/|\/torch_compile_debug\/|(?:^|\/)fx_generated_\w+\.py$|^<eval_with_key>|\/\.?triton\/cache\//;
/**
 * An editable or relocated checkout of torch: a folder `torch` with a part of torch in it, not `…/torchtitan/…` or
 * Megatron's `torch_norm.py`.
 */
const TORCH_CHECKOUT =
  /(?:^|\/)torch\/(?:nn|autograd|optim|utils|cuda|distributed|functional|jit|fx|amp|export|compiler|ao|func|backends|storage|serialization|random|library|testing|_\w+)(?:\/|\.py$)|(?:^|\/)lib(?:64)?\/python\d[\d.]*\/torch\//;
/** Torch's table of overridden operators (2.14): it is called between an operator and its kernel, on any thread. */
const OPERATOR_ROUTER = /(?:^|\/)torch\/_native\//;
const TRITON_CHECKOUT = /(?:^|\/)triton\/(?:runtime|compiler|backends|language|testing)(?:\/|\.py$)/;
const TORCH_PACKAGES = new Set(['torch', 'functorch', 'torchgen', 'triton', 'pytorch_triton']);
/**
 * FSDP and pipelining live inside torch, but they own the memory they take: the model's line would be the wrong one to
 * blame.
 */
const TORCH_FRAMEWORK = /(?:^|\/)torch\/distributed\/(?:fsdp|_composable|pipelining|checkpoint)\//;
/** Packages through which calls only pass, by top-level name. */
const PASSING_PACKAGES = new Set(
  `IPython _pytest absl beartype click cloudpickle debugpy decorator.py einops fire hydra ipykernel ipykernel_launcher.py jaxtyping
  multiprocess nest_asyncio.py omegaconf opt_einsum pluggy pydevd tornado tqdm traitlets typeguard typer wrapt`.split(
    /\s+/,
  ),
);
/** Wrappers of single functions. Only an innermost one is ever met: the wrapped function's own frame is below it. */
const PASSING_FILES = /(?:^|\/)accelerate\/hooks\.py$|(?:^|\/)deepspeed\/utils\/nvtx\.py$/;
const PASSING_NAMES = new Set([
  'wrapper',
  '_wrapper',
  'wrapped',
  'wrapped_fn',
  'wrapped_func',
  'decorated',
  'decorate',
]);
/** Methods that `dataclass` and `namedtuple` compile under the name `<string>`; `python -c` has the same name. */
const COMPILED_METHODS = new Set(['__init__', '__eq__', '__create_fn__', '__repr__', '__hash__']);

/** By file name; emptied when full, so that a store of many runs cannot fill the memory. */
const kindOfFile = new Map<string, FrameKind>();
const KINDS_KEPT = 20_000;

function pythonFileKind(filename: string): FrameKind {
  const path = filename.replaceAll('\\', '/');
  if (GENERATED.test(path)) return 'generated';
  if (OPERATOR_ROUTER.test(path)) return 'noise';
  const installed = lastMatchEnd(path, INSTALLED);
  if (installed >= 0) {
    const top = path.slice(installed).split('/', 1)[0]!;
    if (TORCH_PACKAGES.has(top)) return TORCH_FRAMEWORK.test(path) ? 'code' : 'torch';
    return PASSING_PACKAGES.has(top) || PASSING_FILES.test(path) ? 'runtime' : 'code';
  }
  if (TORCH_CHECKOUT.test(path)) return TORCH_FRAMEWORK.test(path) ? 'code' : 'torch';
  if (TRITON_CHECKOUT.test(path)) return 'torch';
  return STANDARD_LIBRARY.test(path) || PASSING_FILES.test(path) ? 'runtime' : 'code';
}

function lastMatchEnd(text: string, pattern: RegExp): number {
  let end = -1;
  for (const match of text.matchAll(pattern)) end = match.index + match[0].length;
  return end;
}

export function frameKind(frame: Frame): FrameKind {
  const { filename, name } = frame;
  if (!PYTHON_FILE.test(filename)) return isNoise(frame) ? 'noise' : 'native';
  let kind = kindOfFile.get(filename);
  if (kind === undefined) {
    kind = pythonFileKind(filename);
    if (kindOfFile.size >= KINDS_KEPT) kindOfFile.clear();
    kindOfFile.set(filename, kind);
  }
  if (kind !== 'code') return kind;
  if (PASSING_NAMES.has(name) || (filename === '<string>' && COMPILED_METHODS.has(name))) return 'runtime';
  // FSDP's own forward only calls the module it wraps.
  return name === 'forward' && TORCH_FRAMEWORK.test(filename) ? 'torch' : 'code';
}

/** Frames of a Python function: a file, or generated code such as `<eval_with_key>`. */
export function isPython(frame: Frame): boolean {
  return PYTHON_FILE.test(frame.filename);
}

/** Python frames are never noise: upstream's substrings would also drop functions such as `maybe_start_grad_sync`. */
function isNoise(frame: Frame): boolean {
  if (isPython(frame)) return false;
  return (
    MACHINERY.test(frame.name) ||
    NOISE_NAMES.some((name) => frame.name.includes(name)) ||
    NOISE_FILES.some((file) => frame.filename.includes(file))
  );
}

/**
 * Inductor's folder carries the user's name; the file's name is a hash of its content, equal on all ranks, of which
 * eight characters identify it.
 */
const INDUCTOR_FOLDER = /^torchinductor(?:_|$)/;
const INDUCTOR_FILE = /^(\w{8})\w*\.py$/;

/** A frame as one line: the file's last three segments are enough to find it, whatever the installation. */
export function frameText(frame: Frame): string {
  const segments = frame.filename.replaceAll('\\', '/').split('/');
  const hash = INDUCTOR_FILE.exec(segments.at(-1)!)?.[1];
  const isInductor = hash !== undefined && segments.slice(1, -1).some((segment) => INDUCTOR_FOLDER.test(segment));
  const file = isInductor ? `torchinductor/${hash}*.py` : segments.slice(-3).join('/');
  const place = file === '' || file === '??' ? '' : ` ${file}${frame.line > 0 ? `:${frame.line}` : ''}`;
  return `${frame.name}${place}`;
}

/**
 * The frames a reader wants: those of Python, since the native ones below them are alike in all stacks; of a stack
 * without any, {@link visibleFrames}. `raw` is all frames.
 */
export function shownFrames(frames: readonly Frame[], raw = false): readonly Frame[] {
  if (raw) return frames;
  const python = visibleFrames(frames).filter(isPython);
  return python.length > 0 ? python : visibleFrames(frames);
}

/** Frames worth showing: without the noise, unless nothing else is there. */
export function visibleFrames(frames: readonly Frame[]): readonly Frame[] {
  const visible = frames.filter((frame) => !isNoise(frame));
  return visible.length === 0 ? frames : visible;
}

/** What joins a site and its callers where more than one frame makes the key. */
export const CALLER_MARK = ' \u2190 ';

/**
 * The Python frames that name a stack: the site and up to `depth` − 1 callers of its kind (torch, decorators and the
 * standard library between them are left out). If no frame is code or generated: torch's or the standard library's
 * innermost ones. Empty for stacks without Python frames.
 */
export function siteFrames(frames: readonly Frame[], depth = 1): readonly Frame[] {
  const own: Frame[] = [];
  let torch: Frame[] | undefined;
  let runtime: Frame[] | undefined;
  for (const frame of frames) {
    const kind = frameKind(frame);
    if (kind === 'code' || kind === 'generated') {
      own.push(frame);
      if (own.length === depth) break;
    } else if (own.length > 0) continue;
    else if (kind === 'torch') torch = gather(torch, frame, depth);
    else if (kind === 'runtime') runtime = gather(runtime, frame, depth);
  }
  return own.length > 0 ? own : (torch ?? runtime ?? []);
}

function gather(found: Frame[] | undefined, frame: Frame, depth: number): Frame[] {
  if (found === undefined) return [frame];
  if (found.length < depth) found.push(frame);
  return found;
}

/** The call site of a stack, with `depth` − 1 callers; undefined for a stack without frames. */
export function callSite(frames: readonly Frame[], depth = 1): string | undefined {
  const python = siteFrames(frames, depth);
  return python.length > 0 ? python.map(frameText).join(CALLER_MARK) : nativeSite(frames);
}

const BACKWARD_NODE = /::(\w*Backward\w*|AccumulateGrad|CopyBackwards|CopySlices)::apply\(/;
const OPERATOR = /at::_ops::(\w+)::(?:call|redispatch)\(/;
/**
 * The allocator and the factories of empty tensors: in every stack with C++ frames, and never what a reader asks for.
 */
const ALLOCATION =
  /CUDACachingAllocator|NativeCachingAllocator|CUDAMallocAsyncAllocator|CUDAPluggableAllocator|at::detail::\w*empty|at::TensorBase at::detail|c10::(?:Storage|Tensor)Impl/;
const ALLOCATION_FILE =
  /(?:^|\/)(?:CUDACachingAllocator|CUDAMallocAsyncAllocator|CUDAPluggableAllocator|EmptyTensor)\./;
const NO_PYTHON = 'no Python frames';

/**
 * What to call a stack of C++ frames alone: the autograd node that ran (backward works on threads without Python
 * frames), else the operator, else the innermost function that is not the allocator, without its signature. Undefined
 * for no frames.
 */
export function nativeSite(frames: readonly Frame[]): string | undefined {
  for (const { name } of frames) {
    const node = BACKWARD_NODE.exec(name)?.[1];
    if (node !== undefined) return `${node} (autograd engine, ${NO_PYTHON})`;
  }
  const operator = operatorOf(frames);
  if (operator !== undefined) return `${operator} (${NO_PYTHON})`;
  for (const frame of frames) {
    if (isNoise(frame) || ALLOCATION.test(frame.name) || ALLOCATION_FILE.test(frame.filename)) continue;
    const name = functionName(frame.name);
    if (name !== undefined) return `${name} (${NO_PYTHON})`;
  }
  return frames.length === 0 ? undefined : `C++ code (${NO_PYTHON})`;
}

/** `at::empty`: the outermost dispatch is the operator that was called; those inside are its parts. */
export function operatorOf(frames: readonly Frame[]): string | undefined {
  for (let i = frames.length - 1; i >= 0; i -= 1) {
    const operator = OPERATOR.exec(frames[i]!.name)?.[1];
    if (operator !== undefined) return `at::${operator}`;
  }
  return undefined;
}

const QUALIFIED_NAME = /^~?[A-Za-z_$][\w$]*(?:::(?:~?[A-Za-z_$][\w$]*|\{lambda\}|operator\S+))*$/;

/**
 * `torch::autograd::validate_outputs` of a demangled signature: without types, which differ between versions and fill a
 * line. Undefined for what is no name: recorders cut long signatures at either end.
 */
function functionName(signature: string): string | undefined {
  let plain = signature.replaceAll('(anonymous namespace)::', '');
  for (let before = ''; before !== plain; ) {
    before = plain;
    plain = plain.replace(/<[^<>]*>/g, '');
  }
  const open = plain.replace(/operator\(\)/g, 'operator__').indexOf('(');
  const name = (open < 0 ? plain : plain.slice(0, open)).trim().split(/\s+/).at(-1)!;
  return QUALIFIED_NAME.test(name) ? name : undefined;
}
