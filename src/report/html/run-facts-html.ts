/** What a reader of an issue asks first, in the head of the page. What is unknown is left out. Pure. */
import type { ReportFacts } from '../../model/results/report.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { counted, plain } from '../text-pieces.js';
import { type Child, element, join, joinWith, preformatted, type SafeHtml, text, textElement } from './html.js';
import { facts, folded } from './page-pieces.js';

/** Characters of a text of an error that is not folded. */
const SHORT_ERROR = 700;

/** Names as their projects write them; others are words of the log. */
const NAMES: Readonly<Record<string, string>> = {
  ...{ cuda: 'CUDA', nccl: 'NCCL', cudnn: 'cuDNN', transformer_engine: 'Transformer Engine', nemo: 'NeMo' },
  ...{ megatron_core: 'Megatron Core', megatron_bridge: 'Megatron Bridge', deepspeed: 'DeepSpeed', python: 'Python' },
};
/** Sizes that are counts have the number first. */
const COUNTS: Readonly<Record<string, string>> = {
  ...{ num_layers: 'layer', num_attention_heads: 'head', num_moe_experts: 'expert' },
};
const nameOf = (name: string): string => NAMES[name] ?? plain(name);

export function runFactsHtml(runs: readonly ReportFacts[]): Child {
  return runs.map((run) => [
    runs.length > 1 && textElement('h3', run.run),
    facts(
      [
        ['Versions', known(run, versionsOf(run))],
        ['Model', known(run, modelOf(run))],
        ['Layout', known(run, layoutOf(run))],
        ['Allocator', allocatorOf(run)],
        ['GPU', known(run, gpuOf(run))],
        ...run.errors.map((error) => ['Error', errorHtml(error)] as const),
      ].filter((fact): fact is [string, SafeHtml] => fact[1] !== null),
      'facts run-facts',
    ),
  ]);
}

/** A text, and the name of its origin. */
type Part = readonly [text: string, origin?: string];

function versionsOf({ versions, commits }: ReportFacts): Part[] {
  return [
    ...Object.entries(versions).flatMap(([name, version]) =>
      version === null ? [] : [[`${nameOf(name)} ${version}`, `versions.${name}`] as const],
    ),
    ...Object.entries(commits).map(([of, sha]) => {
      return [`${of === 'run' ? '' : `${nameOf(of)} `}commit ${sha.slice(0, 12)}`, `commits.${of}`] as const;
    }),
  ];
}

function modelOf({ model: { name, sizes } }: ReportFacts): Part[] {
  return [
    // The module of a class is left out.
    ...(name === null ? [] : [[/^[\w.]+\.([A-Za-z]\w*)$/.exec(name)?.[1] ?? name] as const]),
    ...Object.entries(sizes).map(([key, size]): Part => {
      const count = COUNTS[key];
      return [count === undefined ? `${plain(key)} ${formatCount(size)}` : counted(size, count)];
    }),
  ];
}

function layoutOf({ world_size: world, parallel }: ReportFacts): Part[] {
  const sizes = (['tp', 'pp', 'vpp', 'cp', 'ep', 'etp', 'dp'] as const).flatMap((axis) => {
    const size = parallel[axis];
    return size === null ? [] : [[`${axis.toUpperCase()} ${formatCount(size)}`, `parallel.${axis}`] as const];
  });
  return [...(world === null ? [] : [[`world size ${formatCount(world)}`, 'world_size'] as const]), ...sizes];
}

function gpuOf({ gpu: { name, total_bytes: total, count } }: ReportFacts): Part[] {
  // A count alone is the world size.
  if (name === null && total === null) return [];
  return [
    ...(name === null ? [] : [[name, 'gpu.name'] as const]),
    ...(total === null ? [] : [[formatBytes(total), 'gpu.total_bytes'] as const]),
    ...(count === null ? [] : [[counted(count, 'GPU'), 'gpu.count'] as const]),
  ];
}

/** Where a fact is from is in its tooltip. */
function known({ origins }: ReportFacts, parts: readonly Part[]): SafeHtml | null {
  if (parts.length === 0) return null;
  return joinWith(
    ' · ',
    parts.map(([value, origin]) => textElement('span', value, { title: origin && origins[origin] })),
  );
}

/** Which origin is in force decides what to change: it is printed. */
function allocatorOf({ allocator_conf: conf, origins }: ReportFacts): SafeHtml | null {
  if (conf === null) return null;
  const origin = origins['allocator_conf'];
  return element(
    'span',
    {},
    conf === '' ? text('default settings') : textElement('code', conf),
    origin !== undefined && textElement('small', ` ${origin}`),
  );
}

function errorHtml({ file, line, rank, text: message }: ReportFacts['errors'][number]): SafeHtml {
  const where = textElement('small', `${rank === null ? '' : `rank ${rank} · `}${file} line ${formatCount(line)}`);
  const lines = preformatted([message], { class: 'error-text' });
  if (message.length <= SHORT_ERROR) return join([where, lines]);
  const start = text(`${message.slice(0, SHORT_ERROR / 4).split('\n', 1)[0]!}…`);
  return join([where, folded('more', [start], lines)]);
}
