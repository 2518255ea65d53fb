/**
 * `package.module:function` of a frame, independent of where the package is installed and of line numbers, so that keys
 * of two runs, commits or containers can be compared. A frame does not carry the name of the nn.Module instance; the
 * file and function of its class are what there is.
 */
import { CALLER_MARK, type Frame, frameKind, nativeSite, siteFrames } from './call-site.js';

/**
 * Packages that are often run from a checkout, with the names that may follow. A folder is the package only if one of
 * these follows: people keep `megatron` checkouts in folders called `megatron`, and NeMo has modules in folders called
 * `megatron`.
 */
const PACKAGES: Readonly<Record<string, RegExp | undefined>> = {
  megatron:
    /^(?:core|training|legacy|bridge|post_training|rl|inference|data|model|mpu|optimizer|fused_kernels|text_generation)$/,
  transformer_engine: /^(?:pytorch|common|jax|debug|plugin)$/,
  nemo: /^(?:core|collections|lightning|utils|export|deploy|constants|package_info)$/,
  nemo_automodel: /./,
  nemo_rl: /./,
  apex: /^(?:amp|contrib|fused_dense|mlp|multi_tensor_apply|normalization|optimizers|parallel|transformer|_autocast_utils)$/,
  flash_attn: /./,
  deepspeed:
    /^(?:runtime|ops|moe|module_inject|pipe|checkpoint|comm|compression|linear|model_implementations|sequence|utils|zero|accelerator)$/,
  transformers:
    /^(?:models|trainer|integrations|utils|generation|modeling_\w+|pytorch_utils|optimization|activations|cache_utils)$/,
  accelerate: /^(?:accelerator|hooks|utils|optimizer|big_modeling|data_loader)$/,
  peft: /^(?:tuners|utils|peft_model|mixed_model)$/,
  lightning: /^(?:pytorch|fabric)$/,
  pytorch_lightning: /./,
  torchtitan: /./,
  torchao: /./,
  fla: /^(?:layers|models|modules|ops)$/,
  mamba_ssm: /./,
  xformers: /./,
  bitsandbytes: /./,
  verl: /^(?:workers|utils|models|trainer|third_party)$/,
  torch: /^(?:nn|autograd|optim|utils|cuda|distributed|functional|jit|fx|amp|_\w+)$/,
  triton: /^(?:runtime|compiler|backends|language|testing)$/,
};

const IDENTIFIER = /^[A-Za-z_]\w*$/;

/**
 * The rule, first match wins. (1) What follows the last `site-packages/` or `dist-packages/`, TorchScript's
 * `__torch__/`, or the standard library's `lib/pythonX.Y/`. (2) From a known package (see above) on. (3) What follows
 * the last `src/`. (4) A relative path as it is. (5) Otherwise the longest tail of folders that could be Python names,
 * if a folder that could not stands before it (`…/my-checkout/pkg/mod.py`), else the last two parts. Then `.py` and
 * `__init__` go, and slashes become dots. Generated code is `torchinductor`, `fx` or `triton` alone: its file names are
 * hashes.
 */
export function modulePath(frame: Frame): string {
  if (frameKind(frame) === 'generated') {
    const by = /torchinductor|torch_compile/.test(frame.filename)
      ? 'torchinductor'
      : /triton/.test(frame.filename)
        ? 'triton'
        : 'fx';
    return `${by}:${frame.name}`;
  }
  return `${moduleName(frame.filename)}:${frame.name}`;
}

function moduleName(filename: string): string {
  const path = filename.replaceAll('\\', '/');
  if (path.startsWith('<')) return path;
  if (/\/ipykernel_\d+\/\d+\.py$/.test(path)) return '<notebook>';
  const parts = path.replace(/\.pyw?$/, '').split('/');
  const installed = after(path, /(?:site|dist)-packages\/|(?:^|\/)__torch__\/|(?:^|\/)lib(?:64)?\/python\d[\d.]*\//g);
  const own =
    installed === undefined ? fromCheckout(parts, path.startsWith('/') || /^[A-Za-z]:/.test(path)) : split(installed);
  // TorchScript mangles repeated names: `___torch_mangle_12`.
  const named = own.filter((part) => part !== '' && part !== '.' && !/^___torch_mangle_\d+$/.test(part));
  if (named.length > 1 && named.at(-1) === '__init__') named.pop();
  return named.join('.');
}

function split(path: string): string[] {
  return path.replace(/\.pyw?$/, '').split('/');
}

function after(path: string, pattern: RegExp): string | undefined {
  let rest: string | undefined;
  for (const match of path.matchAll(pattern)) rest = path.slice(match.index + match[0].length);
  return rest;
}

function fromCheckout(parts: readonly string[], absolute: boolean): readonly string[] {
  for (let i = 0; i < parts.length - 1; i += 1) {
    // A checkout in a folder named as its package.
    if (parts[i] === parts[i + 1]) continue;
    if (PACKAGES[parts[i]!]?.test(parts[i + 1]!) && parts.slice(i).every((part) => IDENTIFIER.test(part)))
      return parts.slice(i);
  }
  const source = parts.lastIndexOf('src', parts.length - 2);
  if (source >= 0) return parts.slice(source + 1);
  if (!absolute) return parts.filter((part) => part !== '..');
  let start = parts.length - 1;
  while (start > 0 && IDENTIFIER.test(parts[start - 1]!)) start -= 1;
  // The boundary between package and folders is unknown.
  if (start <= 1) return parts.slice(-2);
  return parts.slice(start);
}

/** The module path of a stack's site and of up to `depth` − 1 callers; undefined for a stack without frames. */
export function stackModule(frames: readonly Frame[], depth = 1): string | undefined {
  const python = siteFrames(frames, depth);
  return python.length > 0 ? python.map(modulePath).join(CALLER_MARK) : nativeSite(frames);
}
