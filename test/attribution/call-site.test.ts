/**
 * Which line a stack is named by, on stacks as Megatron, Transformer Engine, FSDP, DeepSpeed, Hugging Face and
 * torch.compile leave them.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { callSite, type Frame, frameKind, siteFrames, visibleFrames } from '../../src/attribution/frames/call-site.js';
import { modulePath, stackModule } from '../../src/attribution/frames/module-path.js';
import { SEED } from '../support/level.js';

/** `name file:line`; the file may be empty, as in C++ frames. */
function stack(...lines: readonly string[]): Frame[] {
  return lines.map((line) => {
    const [, name = '', filename = '', number = '0'] = /^(.*?)(?: (\S*?)(?::(\d+))?)?$/.exec(line)!;
    return { name, filename, line: Number(number) };
  });
}

const CPP: readonly Frame[] = [
  { name: 'torch::unwind::unwind()', filename: '??', line: 0 },
  { name: 'torch::CapturedTraceback::gather(bool, bool, bool)', filename: '??', line: 0 },
  {
    name: 'c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long, CUstream_st*)',
    filename: 'CUDACachingAllocator.cpp',
    line: 0,
  },
  { name: 'at::detail::empty_cuda(c10::ArrayRef<long>, c10::TensorOptions const&)', filename: '??', line: 0 },
  { name: 'at::_ops::mm::call(at::Tensor const&, at::Tensor const&)', filename: '??', line: 0 },
];

/** The same package, as people install it. */
const ROOTS = [
  '/usr/local/lib/python3.12/dist-packages/',
  '/home/someone/.local/lib/python3.10/site-packages/',
  '/opt/conda/envs/train/lib/python3.11/site-packages/',
  '/opt/megatron-lm/',
  '/workspace/megatron/',
  '/lustre/fsw/team/My-Checkout.v2/',
  '/home/megatron/Megatron-LM/',
  'C:\\data\\checkout\\',
];

describe('the call site', () => {
  const torch = '/usr/local/lib/python3.12/dist-packages/torch';

  it.each(ROOTS)('is Transformer Engine above torch frames, Megatron above those, installed at %s', (root) => {
    const te = `${root}transformer_engine/pytorch/module/linear.py`;
    const mlp = `${root}megatron/core/transformer/mlp.py`;
    const frames = [
      ...CPP,
      ...stack(
        `empty ${torch}/_ops.py:10`,
        `forward ${te}:120`,
        `apply ${torch}/autograd/function.py:575`,
        `forward ${te}:900`,
        `_call_impl ${torch}/nn/modules/module.py:1784`,
        `forward ${mlp}:77`,
        `_call_impl ${torch}/nn/modules/module.py:1784`,
        `train_step ${root}megatron/training/training.py:700`,
      ),
    ];
    expect(callSite(frames)).toBe('forward pytorch/module/linear.py:120');
    expect(siteFrames(frames, 3).map(({ line }) => line)).toEqual([120, 900, 77]);
    expect(callSite(frames, 3)).toBe(
      'forward pytorch/module/linear.py:120 \u2190 forward pytorch/module/linear.py:900 \u2190 forward core/transformer/mlp.py:77',
    );
    expect(stackModule(frames)).toBe('transformer_engine.pytorch.module.linear:forward');
    expect(stackModule(frames.slice(CPP.length + 5))).toBe('megatron.core.transformer.mlp:forward');
  });

  const at = '/usr/lib/python3/dist-packages';
  const stacks = parse(
    readFileSync(new URL('call-sites.yaml', import.meta.url), 'utf8')
      .replaceAll('TORCH/', `${torch}/`)
      .replaceAll('SITE/', `${at}/`),
  ) as Readonly<Record<string, { readonly module: string; readonly frames: readonly string[] }>>;
  it.each(Object.entries(stacks))('names %s', (_, { frames: lines, module }) => {
    const frames = [...CPP, ...stack(...lines)];
    expect(stackModule(frames)).toBe(module);
    const site = siteFrames(frames)[0]!;
    expect(modulePath(site)).toBe(module);
    expect(callSite(frames)).toContain(site.name);
  });

  it('falls back to torch, then to the standard library, then to what C++ tells', () => {
    const lines = stack(`_init_group ${torch}/optim/adamw.py:163`, 'run /usr/lib/python3.12/threading.py:1012');
    expect(callSite([...CPP, ...lines])).toBe('_init_group torch/optim/adamw.py:163');
    expect(callSite([...CPP, ...lines.slice(1)])).toBe('run lib/python3.12/threading.py:1012');
    expect(callSite(CPP)).toBe('at::mm (no Python frames)');
    const backward = stack('torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)', 'clone');
    expect(callSite([...CPP, ...backward])).toBe('MmBackward0 (autograd engine, no Python frames)');
    expect(callSite(CPP.slice(0, 3))).toBe('C++ code (no Python frames)');
    expect(callSite([])).toBeUndefined();
    expect(stackModule([])).toBeUndefined();
  });

  it('excludes the allocator and signatures', () => {
    const named = (...names: string[]) => names.map((name) => ({ name, filename: 'a.cpp', line: 0 }));
    const free = 'void torch::autograd::check_all<torch::autograd::Edge>(std::vector<at::Tensor> const&, bool)';
    expect(callSite(named(free))).toBe('torch::autograd::check_all (no Python frames)');
    expect(callSite(named('std::vector<at::Tensor, std::allocator<at::Tensor> >::~vector()'))).toBe(
      'std::vector::~vector (no Python frames)',
    );
    expect(callSite(named('my::(anonymous namespace)::Pool::operator()(int) const'))).toBe(
      'my::Pool::operator() (no Python frames)',
    );
    // Cut by the recorder.
    const cut = { name: 'igned char, unsigned long, CUstream_st*)', filename: 'CUDACachingAllocator.cpp', line: 0 };
    expect(callSite([cut])).toBe('C++ code (no Python frames)');
    expect(callSite([{ ...cut, filename: '' }, ...named('my::buffer(int)')])).toBe('my::buffer (no Python frames)');
    const raw = 'c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::raw_alloc(unsigned long)';
    expect(callSite(named(raw, 'ncclCommInitRank'))).toBe('ncclCommInitRank (no Python frames)');
  });

  it('counts the router of overridden operators as no frame', () => {
    const router = stack(`eager_router ${torch}/_native/registry.py:958`);
    expect(router.map(frameKind)).toEqual(['noise']);
    const [site] = siteFrames([...router, ...stack('forward /opt/megatron-lm/megatron/core/transformer/mlp.py:10')]);
    expect(site!.name).toBe('forward');
  });

  it('keeps functions whose names look like the interpreter\u2019s', () => {
    const frames = stack(
      'maybe_start_grad_sync /opt/megatron-lm/megatron/core/distributed/param_and_grad_buffer.py:300',
    );
    expect(visibleFrames([...CPP.slice(0, 1), ...frames])).toEqual(frames);
    expect(stackModule(frames)).toBe('megatron.core.distributed.param_and_grad_buffer:maybe_start_grad_sync');
  });

  it('shortens what Inductor wrote to what tells files apart', () => {
    const [frame] = stack(
      'call /tmp/torchinductor_someone/z3/cz3vcpgktv5ml3u33u6ylioqz73qzckh5lb5msnz4b7q6gkaykiv.py:812',
    );
    expect(callSite([frame!])).toBe('call torchinductor/cz3vcpgk*.py:812');
  });

  it.each([
    ['/workspace/megatron/megatron/core/optimizer/__init__.py', 'megatron.core.optimizer'],
    [
      '/opt/NeMo/nemo/collections/nlp/models/language_modeling/megatron/gpt_model.py',
      'nemo.collections.nlp.models.language_modeling.megatron.gpt_model',
    ],
    ['/opt/Megatron-Bridge/src/megatron/bridge/training/train.py', 'megatron.bridge.training.train'],
    ['/opt/megatron-lm/megatron/core/extensions/transformer_engine.py', 'megatron.core.extensions.transformer_engine'],
    ['/data/team/src/mypkg/layers/block.py', 'mypkg.layers.block'],
    ['pretrain_gpt.py', 'pretrain_gpt'],
    ['/home/someone/train.py', 'someone.train'],
    ['/tmp/ipykernel_114/3105878423.py', '<notebook>'],
  ])('finds the package of %s, in checkouts whose folders have the same name too', (filename, module) => {
    expect(modulePath({ name: 'f', filename, line: 1 })).toBe(`${module}:f`);
  });

  it('holds for any mixture of layers: a Python frame always wins, code over torch, the innermost first', () => {
    const layer = fc.constantFrom<readonly [string, string]>(
      ['noise', 'torch::unwind::unwind()'],
      ['native', 'at::native::relu(at::Tensor const&)'],
      ['torch', `linear ${torch}/nn/functional.py:3`],
      ['runtime', 'run /usr/lib/python3.12/threading.py:4'],
      ['generated', 'call /tmp/torchinductor_x/ab/cabcdefghij.py:5'],
      ['code', 'forward /opt/megatron-lm/megatron/core/transformer/mlp.py:6'],
      ['code', `forward ${at}/transformer_engine/pytorch/module/linear.py:7`],
    );
    fc.assert(
      fc.property(fc.array(layer, { maxLength: 30 }), fc.integer({ min: 1, max: 5 }), (layers, depth) => {
        const frames = stack(...layers.map(([, line]) => line));
        expect(frames.map(frameKind)).toEqual(layers.map(([kind]) => kind));
        const found = siteFrames(frames, depth);
        const own = frames.filter((frame) => ['code', 'generated'].includes(frameKind(frame)));
        const python = frames.filter((frame) => !['noise', 'native'].includes(frameKind(frame)));
        if (own.length > 0) expect(found).toEqual(own.slice(0, depth));
        else if (python.length > 0) expect(found.length).toBeGreaterThan(0);
        else expect(found).toEqual([]);
        expect(callSite(frames) === undefined).toBe(frames.length === 0);
      }),
      { seed: SEED },
    );
  });
});
