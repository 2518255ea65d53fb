import { utf8 } from '../../src/text/text-lines.js';
import type { ClusterWriter, Place, PodPlace } from './cluster-writer.js';

/** Header of `kubectl get events` and `kubectl events`, also over all namespaces and `-o wide`. */
export const EVENTS_HEADER =
  /^(?:NAMESPACE {2,80})?LAST SEEN {2,20}TYPE {2,20}REASON {2,60}OBJECT(?: {2,200}[A-Z]{2,20}(?: [A-Z]{2,20}){0,2}){0,8}\s{0,20}$/;
/** First line of `kubectl describe`. */
export const DESCRIBE_BEGIN = /^Name: {2,60}(\S{1,260})$/;
const MOST_CELLS = 32;

/** Rows of `kubectl get events`: columns separated by two blanks or more, the message last. Ages are not times. */
export class EventsTableReader {
  private readonly writer: ClusterWriter;
  private columns: readonly string[] = [];

  constructor(writer: ClusterWriter) {
    this.writer = writer;
  }

  take(raw: string, line: number, offset: number, isWhole: boolean): void {
    const text = utf8(raw).trimEnd();
    if (text === '') return;
    if (EVENTS_HEADER.test(text)) {
      this.columns = text.trim().split(/ {2,}/);
      return;
    }
    const { columns } = this;
    const cells = text.split(/\s{2,}/, MOST_CELLS);
    const at = columns.indexOf('MESSAGE');
    const extra = cells.length - columns.length;
    // Messages may have such gaps of their own.
    if (extra > 0 && at >= 0) cells.splice(at, extra + 1, cells.slice(at, at + extra + 1).join('  '));
    const cell = (name: string): string => cells[columns.indexOf(name)] ?? '';
    const object = cell('OBJECT');
    const isRow =
      cells.length >= columns.length - 1 && /^(?:Normal|Warning)$/.test(cell('TYPE')) && object.includes('/');
    if (!isRow || !isWhole) {
      this.writer.oddities.add('kubernetes_foreign', line, offset);
      return;
    }
    const [kind = '', name = ''] = object.split('/');
    const count = /\(x(\d{1,9}) over /.exec(cell('LAST SEEN'));
    this.writer.event(
      {
        reason: cell('REASON'),
        message: cell('MESSAGE'),
        object: `${kind.toLowerCase()}/${name}`,
        host: /^node$/i.test(kind) ? name : hostOfSource(cell('SOURCE')),
        count: count === null ? undefined : Number(count[1]),
      },
      { line, offset },
    );
  }

  end(): void {}
}

/** `kubelet, node-7`. */
function hostOfSource(source: string): string | null {
  return /^kubelet, ([\w.-]{1,253})$/.exec(source)?.[1] ?? null;
}

const TOP = /^([A-Z][A-Za-z -]{1,40}):(?: {1,60}(.{0,2000}))?$/;
const INNER = /^( {2,12})([^\s:][^:]{0,200}):(?: {1,60}(.{0,2000}))?$/;
const EVENT_ROW =
  /^ {2,6}(Normal|Warning) {2,60}(\S{1,80}) {2,60}(\S(?: ?\S){0,60}) {2,60}(\S(?: ?\S){0,253}) {2,60}(\S.{0,3999})$/;

interface State {
  readonly at: Place;
  /** `Terminated`, `Waiting`, `Running`. */
  readonly word: string;
  readonly fields: Map<string, string>;
}

/**
 * What `kubectl describe` prints of pods and nodes, one behind the other: sections by indentation. Upstream: kubectl
 * `pkg/describe/describe.go`.
 */
export class DescribeReader {
  private readonly writer: ClusterWriter;
  private pod: PodPlace = { pod: '', host: null };
  private isNode = false;
  private at: Place = { line: 1, offset: 0 };
  private status = { reason: '', message: '' };
  /** Section of the whole, container or volume in it, and section of that. */
  private top = '';
  private item = '';
  private section = '';
  private state: State | null = null;
  private volume: { readonly at: Place; readonly name: string; isMemory: boolean; limit: string } | null = null;

  constructor(writer: ClusterWriter) {
    this.writer = writer;
  }

  take(raw: string, line: number, offset: number, isWhole: boolean): void {
    const text = utf8(raw).trimEnd();
    if (text === '') return;
    const place = { line, offset };
    const begin = DESCRIBE_BEGIN.exec(text);
    if (begin !== null) {
      this.end();
      this.pod = { pod: begin[1]!, host: null };
      this.isNode = false;
      this.at = place;
      this.status = { reason: '', message: '' };
      this.writer.objects += 1;
      this.top = 'Name';
      return;
    }
    const top = TOP.exec(text);
    if (top !== null) {
      this.endItem();
      this.top = top[1]!;
      this.topField(top[2]?.trim() ?? '');
      return;
    }
    if (this.top === 'Events') this.event(text, place, isWhole);
    else this.inner(text, place);
  }

  end(): void {
    this.endItem();
    if (this.status.reason !== '') this.writer.podFailed(this.pod, this.status.reason, this.status.message, this.at);
    this.status = { reason: '', message: '' };
  }

  private topField(value: string): void {
    if (this.top === 'Roles') {
      this.isNode = true;
      this.pod = { pod: this.pod.pod, host: this.pod.pod };
    } else if (this.top === 'Node' && value !== '' && value !== '<none>') {
      this.pod = { ...this.pod, host: value.split('/')[0]! };
    } else if (this.top === 'Start Time') this.pod = { ...this.pod, started: value };
    else if (this.top === 'Reason') this.status.reason = value;
    else if (this.top === 'Message') this.status.message = value;
  }

  private event(text: string, place: Place, isWhole: boolean): void {
    const row = EVENT_ROW.exec(text);
    if (row === null || !isWhole) {
      if (!/^ {2,6}(?:Type|----) /.test(text)) this.writer.oddities.add('kubernetes_foreign', place.line, place.offset);
      return;
    }
    const [, , reason = '', age = '', from = '', message = ''] = row;
    const count = /\(x(\d{1,9}) over /.exec(age);
    const object = `${this.isNode ? 'node' : 'pod'}/${this.pod.pod}`;
    const host = this.isNode ? this.pod.pod : (hostOfSource(from) ?? this.pod.host);
    const many = count === null ? undefined : Number(count[1]);
    this.writer.event({ reason, message, object, host, count: many }, place);
  }

  private inner(text: string, place: Place): void {
    const match = INNER.exec(text);
    if (match === null) return;
    const [, indent = '', name = '', rest] = match;
    const value = rest?.trim() ?? '';
    const isContainers = this.top === 'Containers' || this.top === 'Init Containers';
    if (!isContainers && this.top !== 'Volumes') return;
    if (indent.length === 2) {
      this.endItem();
      this.item = name;
      if (this.top === 'Volumes') this.volume = { at: place, name, isMemory: false, limit: '' };
    } else if (this.volume !== null) {
      if (name === 'Medium') this.volume.isMemory = value === 'Memory';
      else if (name === 'SizeLimit') this.volume.limit = value;
    } else if (indent.length === 4) {
      this.endState();
      this.section = name;
      if (name === 'State' || name === 'Last State') this.state = { at: place, word: value, fields: new Map() };
      else if (name === 'Restart Count') this.writer.restarts(this.pod, this.item, Number(value), place);
    } else if (this.state !== null) this.state.fields.set(name, value);
    else if (this.section === 'Limits') this.writer.resources(this.pod, this.item, [[name, value]], place);
    else if (this.section === 'Environment' && !value.startsWith('<set to the key')) {
      this.writer.env(this.pod, name, value, place);
    }
  }

  private endItem(): void {
    this.endState();
    if (this.volume?.isMemory === true) {
      this.writer.memoryVolume(this.pod, this.volume.name, this.volume.limit, this.volume.at);
    }
    this.volume = null;
    this.item = '';
    this.section = '';
  }

  private endState(): void {
    const { state, item, pod } = this;
    this.state = null;
    if (state === null) return;
    const { word, fields, at } = state;
    const reason = fields.get('Reason') ?? '';
    if (word === 'Waiting') this.writer.waiting(pod, item, reason, fields.get('Message') ?? '', at);
    if (word !== 'Terminated') return;
    const code = fields.get('Exit Code') ?? '';
    const exitCode = /^-?\d{1,6}$/.test(code) ? Number(code) : null;
    const ended = {
      container: item,
      reason,
      exitCode,
      message: fields.get('Message'),
      finished: fields.get('Finished'),
    };
    this.writer.terminated(pod, ended, at);
  }
}
