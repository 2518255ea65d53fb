/** The static page: it is safe, it is the same for the same input, and its figures are those of the results. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ReportFacts } from '../../../src/model/results/report.js';
import { reportHtml } from '../../../src/report/html/report-html.js';
import { bisectReport, HOSTILE as HOSTILE_WORDS } from '../../support/compare-results.js';
import { ranks, report } from './report-fixture.js';
import { byClass, byId, byName, bytesIn, type Node, readHtml, select, textOf } from './sound-html.js';

const STYLE = readFileSync(new URL('../../../src/report/page/page.css', import.meta.url), 'utf8');
const SCRIPT = 'console.log("the script");';
const pageOf = (result = report()): string => reportHtml(result, { script: SCRIPT, style: STYLE });
const HOSTILE = `</script><img src=x onerror=alert(1)>\u202e${HOSTILE_WORDS}`;

let page: Node;
beforeAll(() => {
  page = readHtml(pageOf());
});

describe('reportHtml', () => {
  it('keeps every hostile text a text', () => {
    const html = pageOf(report({}, { run: HOSTILE, site: HOSTILE, line: HOSTILE, path: HOSTILE }));
    const node = readHtml(html);
    expect(byName(node, 'img')).toEqual([]);
    expect(byName(node, 'script').map((one) => one.attributes.get('type'))).toEqual([
      'application/json',
      'application/octet-stream',
      undefined,
    ]);
    expect(['\u202e', '\u0000', '\u001b'].filter((sign) => html.includes(sign))).toEqual([]);
    expect(html).toContain('\\u{202e}');
    const title = textOf(byName(node, 'title')[0]!);
    expect(title).toContain('</script><img src=x onerror=alert(1)>');
    for (const place of ['pre', 'td', 'summary'])
      expect(select(node, (one) => one.name === place).some((one) => textOf(one).includes('<img src=x'))).toBe(true);
  });

  it('allows its own script and style and nothing else', () => {
    const policy = select(page, (one) => one.attributes.get('http-equiv') === 'Content-Security-Policy')[0]!;
    const hash = (content: string): string => `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
    const style = textOf(byName(page, 'style')[0]!);
    expect(style).toBe(STYLE);
    expect(policy.attributes.get('content')).toBe(
      `default-src 'none'; script-src ${hash(textOf(byName(page, 'script').at(-1)!))}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'`,
    );
    // A style attribute, an address to load from or a handler would be refused, or be a request.
    const forbidden = select(page, ({ attributes }) =>
      [...attributes].some(
        ([key, value]) =>
          key === 'style' || key === 'src' || key.startsWith('on') || (key === 'href' && !/^(?:#|data:,$)/.test(value)),
      ),
    );
    expect(forbidden).toEqual([]);
    expect(() => reportHtml(report(), { script: 'a = "</script>"', style: STYLE })).toThrow('ends its element');
  });

  it('is the same for the same input, and every link has its target', () => {
    expect(pageOf()).toBe(pageOf());
    const ids = select(page, ({ attributes }) => attributes.has('id')).map(({ attributes }) => attributes.get('id')!);
    expect(new Set(ids).size).toBe(ids.length);
    const targets = byName(page, 'a').map(({ attributes }) => attributes.get('href')!.slice(1));
    expect(targets).toContain('evidence-E5');
    expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
  });

  it('begins with what a page is recognised by', () => {
    expect(pageOf().slice(0, 4096)).toContain('<meta name="generator" content="mbforensics 0.1.0">');
  });

  it('has the verdict, the fix and the reasons at its head', () => {
    const head = byId(page, 'verdict');
    expect(textOf(head)).toMatch(/^OOM.*run capacity.*rank 1 .*capacity, confirmed by replay/);
    expect(textOf(byClass(head, 'fix')[0]!)).toContain('cfg.model.recompute_granularity = "selective"');
    const links = byName(byClass(head, 'why')[0]!, 'a').map(({ attributes }) => attributes.get('data-e'));
    expect(links).toEqual(['E6', 'E8']);
    expect(textOf(byClass(head, 'request')[0]!)).toContain('general_gemm');
  });

  it('has what a reader of an issue asks first, and nothing for what is unknown', () => {
    const [list] = byClass(byId(page, 'verdict'), 'run-facts');
    expect(byName(list!, 'dt').map(textOf)).toEqual(['versions', 'device', 'layout', 'allocator', 'model']);
    expect(byName(list!, 'dd').map(textOf)).toEqual([
      'torch 2.8.0+cu129 · cuda 12.9 · commit 0123456789ab',
      'NVIDIA H100 80GB HBM3 · 79.11 GiB · 16 GPUs',
      'world 16 · TP 1 · PP 8 · CP 1 · DP 2',
      'expandable_segments:True (PYTORCH_CUDA_ALLOC_CONF, env: launch.sh line 3)',
      'Llama3ModelProvider70B · num layers 80 · hidden size 8,192',
    ]);
    expect(byName(list!, 'h3').map(textOf)).toEqual([expect.stringMatching(/^Error of rank 1, \S+ line 655$/)]);
    expect(byName(list!, 'pre').map(textOf)).toEqual([
      expect.stringMatching(/^torch\.OutOfMemoryError: .*\nTried to allocate 594\.00 MiB\.$/),
    ]);
    const [known] = report().facts;
    const versions = { ...known!.versions, torch: null, cuda: null, apex: null };
    const bare: ReportFacts = {
      ...{ ...known!, versions, commits: {}, world_size: null, allocator_conf: null, origins: {}, errors: [] },
      parallel: { tp: null, pp: null, vpp: null, cp: null, ep: null, dp: null, etp: null },
      gpu: { name: null, total_bytes: null, count: null },
      model: { name: null, sizes: {} },
    };
    expect(pageOf(report({ facts: [bare] }))).not.toContain('run-facts"');
    const long = { ...known!.errors[0]!, text: `first line\n${'x'.repeat(5_000)}`, rank: null };
    const both = [
      { ...bare, run: 'a', errors: [long] },
      { ...known!, run: 'b' },
    ];
    const lists = byId(readHtml(pageOf(report({ facts: both }))), 'verdict');
    const names = byClass(lists, 'run-facts').map((one) => textOf(byName(one, 'h3')[0]!));
    expect(names).toEqual(['a', 'b']);
    const [more] = byClass(byClass(lists, 'run-facts')[0]!, 'more');
    expect(textOf(byName(more!, 'summary')[0]!)).toMatch(/^Error, \S+ line 655$/);
    expect(textOf(byName(more!, 'pre')[0]!)).toBe(long.text);
  });

  it('has bars whose parts add up to the total to the byte', () => {
    const bars = select(byId(page, 'memory'), ({ attributes }) => attributes.has('data-total'));
    const sums = bars.map((bar) => bytesIn(bar).reduce((sum, bytes) => sum + bytes, 0));
    const { accounting_total: total, accounting_peak: atPeak, accounting } = report().diagnosis!.verdicts[0]!;
    expect(bars.map(({ attributes }) => Number(attributes.get('data-total')))).toEqual([
      total!.bytes,
      atPeak!.total.bytes,
    ]);
    // What the printed digits of a message hide is in the table alone.
    const hidden = accounting.find(({ part }) => part === 'rounding_of_message')!.bytes;
    expect(sums).toEqual([total!.bytes - hidden, atPeak!.total.bytes]);
  });

  it('has tables with the exact figures of every view', () => {
    const { moments, page: device, timeline } = report().devices[0]!;
    const [{ state, attribution, peak }] = moments as readonly [(typeof moments)[number]];
    const inSection = (id: string): number[] => bytesIn(byClass(byId(page, id), 'twin')[0]!);
    const has = (id: string, figures: readonly number[]) =>
      expect(inSection(id), id).toEqual(expect.arrayContaining([...figures]));
    has('stacked', [...attribution.components.map(({ bytes }) => bytes), attribution.total_bytes]);
    has(
      'map',
      state.pinned_segments.flatMap((one) => [one.total_bytes, one.inactive_bytes, one.largest_hole_bytes]),
    );
    has('segments', [state.reserved_bytes, state.inactive_bytes, ...state.largest_holes.map(({ bytes }) => bytes)]);
    has(
      'flame',
      peak.sites.map(({ bytes }) => bytes),
    );
    expect(bytesIn(byId(page, 'lifetimes'))).toEqual([...device.lifetimes].reverse().map(({ bytes }) => bytes));
    expect(bytesIn(byId(page, 'steps'))).toContain(timeline.trace!.steps.rows[0]!.end_active_bytes);
    expect(bytesIn(byId(page, 'evidence-E5'))).toEqual([123_456_789_012]);
    const account = bytesIn(byId(page, 'memory'));
    const { accounting } = report().diagnosis!.verdicts[0]!;
    expect(account).toEqual(expect.arrayContaining(accounting.map(({ bytes }) => bytes)));
    expect(accounting.at(-1)!.bytes).toBeLessThan(0);
  });

  it('marks the quoted line, and has what is not known with its lines to paste', () => {
    expect(textOf(byName(byId(page, 'evidence-E2'), 'pre')[0]!)).toContain('> 655  torch.OutOfMemoryError');
    expect(byName(byId(page, 'unknown'), 'pre').map(textOf)).toEqual([
      ...['export A=1', 'export A=1', '--a 1', 'a = 1'],
    ]);
  });

  it('names what is not drawn', () => {
    const footer = textOf(byName(page, 'footer')[0]!);
    expect(footer).toContain('the page makes no request');
    expect(footer).toContain('10 blocks of 100');
    expect(footer).toContain('mbforensics report capacity/4/snapshot#1');
  });

  it('shows ranks in little space, and names how many it does not list', () => {
    for (const staged of [true, false]) {
      const html = pageOf(report({ ranks: ranks(1_024, staged) }));
      const section = /<section id="ranks".*?<\/section>/s.exec(html)![0];
      expect(section.length).toBeLessThan(400_000);
      const node = readHtml(section);
      expect(byName(node, 'title')).toHaveLength(3 * 1_024);
      expect(byName(node, 'tr')).toHaveLength(1_025);
      expect(byClass(node, 'halo')).toHaveLength(3);
    }
    const many = readHtml(/<section id="ranks".*?<\/section>/s.exec(pageOf(report({ ranks: ranks(4_096) })))![0]);
    expect(byName(many, 'tr')).toHaveLength(257);
    expect(textOf(many)).toContain('3,840 ranks not listed');
    // The fullest first.
    expect(bytesIn(many)[0]).toBe(ranks(4_096).at(-1)!.peak_allocated_bytes);
  });

  it('shows bisections with hostile names', () => {
    const commit = { sha: HOSTILE, subject: HOSTILE };
    const bisection = bisectReport({
      ...{ criterion: HOSTILE, golden: HOSTILE, confidence_reason: HOSTILE, notes: [HOSTILE] },
      culprit: { ...commit, judged_runs: 1 },
      suspects_left: [{ ...commit, why_skipped: HOSTILE }],
    });
    const empty = { diagnosis: null, evidence: [], devices: [], other_devices: [], ranks: [], iterations: null };
    const node = readHtml(pageOf(report({ ...empty, subject: 'bisection', title: HOSTILE, bisection })));
    expect(byName(node, 'img')).toEqual([]);
    expect(bytesIn(byId(node, 'differences'))).toEqual(expect.arrayContaining([bisection.components[0]!.delta_bytes]));
    expect(byClass(byId(node, 'commits'), 'dot')).toHaveLength(3 + 3);
  });
});
