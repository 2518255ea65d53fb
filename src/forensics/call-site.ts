/**
 * From a stack to the line a reader would name. Frames come innermost first: the allocator, torch's own C++ and Python, then the framework,
 * then the trainer. The site is the first frame that is neither allocator nor torch: Transformer Engine, Megatron, apex and flash-attention count
 * as sites wherever they are installed.
 */

export interface Frame {
  readonly name: string;
  readonly filename: string;
  readonly line: number;
}

/** Frames memory_viz drops too: they are in every stack with C++ frames. Upstream: torch `torch/utils/viz/MemoryViz.js`, `frameFilter`. */
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

export function isNoise(frame: Frame): boolean {
  return (
    NOISE_NAMES.some((name) => frame.name.includes(name)) || NOISE_FILES.some((file) => frame.filename.includes(file))
  );
}

/** Python files of torch itself, however it is installed: `…/site-packages/torch/…`, not `…/torchtitan/…` or Megatron's `torch_norm.py`. */
const TORCH_FILE =
  /(?:^|\/)(?:site-packages|dist-packages|lib\/python[\d.]+)\/torch\/|(?:^|\/)torch\/(?:nn|autograd|optim|utils|_ops|cuda|_dynamo|_inductor|_functorch)\b/;

export function isTorchFile(filename: string): boolean {
  return TORCH_FILE.test(filename);
}

/** Frames of a Python function: a file, or generated code such as `<eval_with_key>`. */
export function isPython(frame: Frame): boolean {
  return frame.filename.endsWith('.py') || frame.filename.startsWith('<');
}

/** A frame as one line: the file's last three segments are enough to find it, whatever the installation. */
export function frameText(frame: Frame): string {
  const file = frame.filename.split('/').slice(-3).join('/');
  const place = file === '' || file === '??' ? '' : ` ${file}${frame.line > 0 ? `:${frame.line}` : ''}`;
  return `${frame.name}${place}`;
}

/** Frames worth showing: without the noise, unless nothing else is there. */
export function visibleFrames(frames: readonly Frame[]): readonly Frame[] {
  const visible = frames.filter((frame) => !isNoise(frame));
  return visible.length === 0 ? frames : visible;
}

/** The call site of a stack; undefined for a stack without frames. */
export function callSite(frames: readonly Frame[]): string | undefined {
  const visible = visibleFrames(frames);
  const python = visible.filter(isPython);
  const site = python.find((frame) => !isTorchFile(frame.filename)) ?? python[0] ?? visible[0];
  return site === undefined ? undefined : frameText(site);
}
