/**
 * One page for a run, a comparison, a bisection or a history: a single file without requests that is complete without
 * its script. The answer is at the top; each drawing has the table of its figures. The same result gives the same
 * bytes: the page has neither dates nor random names. Pure.
 */
import type { PageData, PageDevice } from '../../model/picture/page-data.js';
import type { ReportResult } from '../../model/results/report.js';
import { formatCount } from '../../model/units.js';
import { counted } from '../text-pieces.js';
import { HATCH } from './account-bar.js';
import { bisectHead, bisectSections } from './bisect-html.js';
import { bytesBlock, contentSecurityPolicy, jsonBlock } from './data-blocks.js';
import { diagnosisHead, memorySection, testsSection, unknownSection } from './diagnosis-html.js';
import { differencesSection, diffHead, pairSection } from './diff-html.js';
import { evidenceSection } from './evidence-html.js';
import { historyHead, historySection } from './history-html.js';
import { type Child, element, join, text, textElement, textList, trusted } from './html.js';
import { lakeSection } from './lake-html.js';
import { viewSections } from './moments-html.js';
import { headHtml, type PageHead } from './page-head.js';
import type { PageSection } from './page-pieces.js';
import { ranksSection } from './ranks-html.js';
import { runFactsHtml } from './run-facts-html.js';
import { iterationsSection, stepsSection } from './steps-html.js';

export interface PageAssets {
  /** The bundled script of the page, and its style. */
  readonly script: string;
  readonly style: string;
}

export function reportHtml(report: ReportResult, { script, style }: PageAssets): string {
  checkInline(script, 'script');
  checkInline(style, 'style');
  const head = headOf(report);
  const sections = sectionsOf(report);
  const page = element(
    'html',
    { lang: 'en' },
    element(
      'head',
      {},
      element('meta', { charset: 'utf-8' }),
      element('meta', { 'http-equiv': 'Content-Security-Policy', content: contentSecurityPolicy(script, style) }),
      element('meta', { name: 'generator', content: report.program }),
      element('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
      element('meta', { name: 'color-scheme', content: 'light dark' }),
      element('link', { rel: 'icon', href: 'data:,' }),
      textElement('title', `${head.badge}: ${head.title} · ${report.title}`),
      element('style', {}, trusted(style)),
    ),
    element(
      'body',
      { class: report.subject },
      textElement('a', 'Skip to the details', { class: 'skip-link', href: '#details' }),
      HATCH,
      headHtml({ ...head, below: [runFactsHtml(report.facts), head.below] }),
      redactedText(report),
      navigation(sections),
      textElement('p', '', { id: 'picture-error', class: 'error', role: 'alert', hidden: true }),
      report.devices.length > 0 &&
        element(
          'noscript',
          {},
          textElement('p', 'Without scripts the drawings are left out; the tables below hold their figures.', {
            class: 'note',
          }),
        ),
      element(
        'main',
        { id: 'details' },
        sections.map(({ html }) => html),
      ),
      footer(report),
      jsonBlock('page', pageData(report)),
      report.devices.map(({ bytes }, i) => bytesBlock(`device-${i}`, bytes)),
      element('script', {}, trusted(script)),
    ),
  );
  return `<!doctype html>\n${page}\n`;
}

/** A script or style that ends its own element, or opens a comment of script, would be cut off. */
function checkInline(content: string, name: string): void {
  if (new RegExp(`</${name}|<!--`, 'i').test(content)) throw new Error(`the ${name} of the page ends its element`);
}

/** The subject of the page first; of a comparison, the diagnosis of the later run is a section. */
function headOf(report: ReportResult): PageHead {
  if (report.diff !== null) return diffHead(report.diff);
  if (report.bisection !== null) return bisectHead(report.bisection);
  if (report.history !== null) return historyHead(report.history);
  if (report.diagnosis !== null) return diagnosisHead(report.diagnosis, report.operand);
  return {
    ...{ tone: 'plain', badge: report.subject.toUpperCase(), places: [], title: report.title },
    ...{ summary: null, boxes: [], below: null },
  };
}

function sectionsOf(report: ReportResult): PageSection[] {
  const { diagnosis, devices, diff } = report;
  const verdict = diagnosis?.verdicts[0];
  return [
    diff === null || diagnosis === null ? null : diagnosisSection(report),
    pairSection(report),
    differencesSection(diff),
    ...bisectSections(report.bisection),
    historySection(report.history),
    memorySection(verdict),
    ...viewSections(report),
    ranksSection(report.ranks, diagnosis),
    lakeSection(report),
    // Of a comparison, the steps of both are a table of the pair.
    diff === null ? stepsSection(devices) : null,
    iterationsSection(report.iterations),
    testsSection(verdict),
    evidenceSection(report),
    diagnosis === null ? null : unknownSection(diagnosis),
  ].filter((one) => one !== null);
}

function diagnosisSection({ diagnosis, operand }: ReportResult): PageSection {
  return {
    id: 'diagnosis',
    name: 'Diagnosis of b',
    html: join([headHtml(diagnosisHead(diagnosis!, operand), 'section')]),
  };
}

function navigation(sections: readonly PageSection[]): Child {
  if (sections.length < 2) return null;
  return element(
    'nav',
    { 'aria-label': 'Sections of the page' },
    element('a', { href: '#verdict' }, text('Top')),
    sections.map(({ id, name }) => element('a', { href: `#${id}` }, text(name))),
  );
}

function redactedText({ is_redacted: isRedacted }: ReportResult): Child {
  return isRedacted && textElement('p', 'Names in this page are replaced by pseudonyms.', { class: 'redacted' });
}

function pageData({ subject, devices, diff }: ReportResult): PageData {
  return {
    subject: subject === 'snapshot' ? 'run' : subject,
    devices: devices.map(({ page }) => page),
    isPair: diff !== null && devices.length > 1,
  };
}

const SUBJECTS = {
  run: 'run',
  snapshot: 'snapshot',
  comparison: 'comparison',
  bisection: 'bisection',
  history: 'history',
} as const;

/** Which blocks a page leaves out. */
function leftOutWords({ allBlocks, blocks, blocksOutside: outside }: PageDevice): string {
  const small = allBlocks - blocks - outside;
  return [
    ...(small > 0 ? ['the smallest by bytes × entries'] : []),
    ...(outside > 0 ? [`${formatCount(outside)} that no drawn segment contains`] : []),
  ].join(' and ');
}

function footer(report: ReportResult): Child {
  const { program, subject, title, devices, other_devices: others } = report;
  const left = devices.flatMap(({ page }) => {
    const hidden = page.allBlocks - page.blocks;
    if (hidden <= 0) return [];
    return [
      `${page.title}: ${counted(hidden, 'block')} of ${formatCount(page.allBlocks)} are not in the page, ${leftOutWords(page)}. All: mbforensics allocations ${page.handle} --device ${page.device} --limit 0`,
    ];
  });
  return element(
    'footer',
    {},
    textElement('p', `${program} · ${SUBJECTS[subject]} ${title} · the page makes no request`),
    textList([
      ...left,
      ...others.map(({ handle, device }) => `not drawn: device ${device} of ${handle}: mbforensics report ${handle}`),
    ]),
  );
}
