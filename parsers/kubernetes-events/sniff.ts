import type { Head, Sniff } from '../../src/model/parser.js';
import { mostAre, textOfHead } from '../../src/text/stream-head.js';
import { DESCRIBE_BEGIN, EVENTS_HEADER } from './read-tables.js';

/** What a file turned out to be; also the id of the format in its rows. */
export type ClusterForm = 'kubernetes.json' | 'kubernetes.yaml' | 'kubernetes.events-table' | 'kubernetes.describe';

export interface Recognised extends Sniff {
  readonly form: ClusterForm;
}

const SURE = 0.97;
const API = /(?:v1|events\.k8s\.io\/v1(?:beta1)?)/.source;

/** Recognises what kubectl prints of events, pods and nodes. Null: it is none. Never throws. */
export function recogniseCluster(head: Head): Recognised | null {
  const { text, filled } = textOfHead(head, 'latin1');
  const first = filled[0];
  if (first === undefined) return null;
  if (first.trimStart().startsWith('{')) return json(text);
  if (/^(?:---|#|apiVersion:|items:|kind:)/.test(first)) return yaml(text);
  if (EVENTS_HEADER.test(first)) {
    const isRow = (line: string): boolean =>
      EVENTS_HEADER.test(line) || / {2,40}(?:Normal|Warning) {2,40}\S/.test(line);
    return mostAre(filled, isRow)
      ? { form: 'kubernetes.events-table', score: SURE, why: 'It is a table of kubectl get events.' }
      : null;
  }
  return describe(text, filled);
}

function json(text: string): Recognised | null {
  if (!new RegExp(`"apiVersion"\\s{0,8}:\\s{0,8}"${API}"`).test(text)) return null;
  const isEvents =
    /"kind"\s{0,8}:\s{0,8}"(?:Event|EventList)"/.test(text) && /"(?:involvedObject|regarding)"/.test(text);
  const isPods = /"kind"\s{0,8}:\s{0,8}"(?:Pod|PodList)"/.test(text) && /"(?:containers|containerStatuses)"/.test(text);
  if (!isEvents && !isPods) return null;
  return { form: 'kubernetes.json', score: SURE, why: `It lists ${isEvents ? 'events' : 'pods'} of Kubernetes.` };
}

/** The first kind other than a bare list decides: manifests of other kinds may contain a pod template further down. */
function yaml(text: string): Recognised | null {
  if (!new RegExp(`^(?:- | {0,4})apiVersion: ["']?${API}["']?\\s{0,8}$`, 'm').test(text)) return null;
  const kinds = [...text.matchAll(/^(?:- | {2}| {4})?kind: ["']?([A-Za-z]{1,60})["']?\s{0,8}$/gm)].map(
    (match) => match[1]!,
  );
  const kind = kinds.find((name) => name !== 'List');
  if (kind === undefined || !/^(?:Event|Pod)(?:List)?$/.test(kind)) return null;
  return {
    form: 'kubernetes.yaml',
    score: SURE,
    why: `It lists ${kind.startsWith('E') ? 'events' : 'pods'} of Kubernetes.`,
  };
}

function describe(text: string, lines: readonly string[]): Recognised | null {
  if (!DESCRIBE_BEGIN.test(lines[0]!)) return null;
  const isPod =
    /^Namespace: {2,60}\S/m.test(text) &&
    /^(?:Containers|Init Containers):/m.test(text) &&
    /^Node: {2,60}\S/m.test(text);
  const isNode = /^Roles: {2,60}\S/m.test(text) && /^(?:Conditions|Capacity|Addresses):/m.test(text);
  if (!isPod && !isNode) return null;
  const isOurs = (line: string): boolean => /^[A-Z][A-Za-z -]{1,40}:|^ {2}|^\t/.test(line);
  return mostAre(lines, isOurs)
    ? { form: 'kubernetes.describe', score: SURE, why: 'It is what kubectl describe prints.' }
    : null;
}

export function sniffCluster(head: Head): Sniff {
  return recogniseCluster(head) ?? { score: 0, why: 'It is not a list of Kubernetes events or pods.' };
}
