/**
 * memory_viz, written from its JavaScript alone (torch `torch/utils/viz/MemoryViz.js`: `annotate_snapshot`,
 * `process_alloc_data`, `simulate_memory`, `calculate_fragmentation`) over plain entries, as slowly and literally as
 * there. Imports nothing of ours: it is what ours is held against.
 */

export interface VizEntry {
  readonly action: string;
  readonly addr: number | null;
  readonly size: number | null;
  readonly stream: number | null;
}
export interface VizBlock {
  readonly address: number;
  readonly size: number;
  /** Undefined where the file has none. */
  readonly requested: number | undefined;
  readonly state: string;
}
export interface VizSegment {
  readonly address: number;
  readonly size: number;
  readonly stream: number | null;
  readonly blocks: readonly VizBlock[];
}
/** A snapshot whose trace is on one device. */
export interface VizSnapshot {
  readonly entries: readonly VizEntry[];
  readonly segments: readonly VizSegment[];
}

interface Event {
  action: string;
  readonly addr: number;
  readonly size: number;
  readonly stream: number | null;
  version: number;
  /** Index in the trace as recorded, of the last entry folded into this one. */
  lastSeq: number;
}

/**
 * Events as the page lists them: a free that completes at once is one event, and addresses carry how often they were
 * freed before.
 */
export function vizEvents({ entries }: VizSnapshot): {
  readonly events: readonly Event[];
  readonly labels: readonly (string | null)[];
} {
  const versions: Record<string, Map<number, number>> = { block: new Map(), segment: new Map() };
  const version = (space: 'block' | 'segment', addr: number, increment: boolean): number => {
    const now = versions[space]!.get(addr) ?? 0;
    versions[space]!.set(addr, increment ? now + 1 : now);
    return now;
  };
  const events: Event[] = [];
  const labels: (string | null)[] = [];
  for (const [seq, entry] of entries.entries()) {
    const event: Event = {
      action: entry.action,
      addr: entry.addr ?? Number.NaN,
      size: entry.size ?? Number.NaN,
      stream: entry.stream,
      version: -1,
      lastSeq: seq,
    };
    labels.push(null);
    const label = (prefix: string): void => {
      labels[seq] = `${prefix}${event.addr.toString(16)}_${event.version}`;
    };
    if (entry.action === 'free_completed') {
      event.version = version('block', event.addr, true);
      label('b');
      const previous = events.at(-1);
      if (previous?.action === 'free_requested' && previous.addr === event.addr) {
        previous.action = 'free';
        previous.lastSeq = seq;
        continue;
      }
    } else if (entry.action === 'free_requested' || entry.action === 'alloc') {
      event.version = version('block', event.addr, false);
      label('b');
    } else if (entry.action === 'segment_free' || entry.action === 'segment_unmap') {
      event.version = version('segment', event.addr, true);
      label('s');
    } else if (entry.action === 'segment_alloc' || entry.action === 'segment_map') {
      event.version = version('segment', event.addr, false);
      label('s');
    }
    events.push(event);
  }
  return { events, labels };
}

export interface VizTimeline {
  /** `max_size`: the top of the plot's axis. */
  readonly plottedPeak: number;
  readonly initially: readonly { readonly addr: number; readonly size: number }[];
  readonly elements: number;
}

/**
 * The Active Memory Timeline. Which elements are drawn and which summarised does not change the total, so all are drawn
 * here.
 */
export function vizTimeline(snapshot: VizSnapshot): VizTimeline {
  const elements: { addr: number; size: number }[] = [];
  const initially: number[] = [];
  const actions: number[] = [];
  const open = new Map<number, number>();
  for (const event of vizEvents(snapshot).events) {
    if (event.action === 'alloc') {
      elements.push(event);
      open.set(event.addr, elements.length - 1);
      actions.push(elements.length - 1);
    } else if (event.action === 'free' || event.action === 'free_completed') {
      const element = open.get(event.addr);
      if (element !== undefined) {
        actions.push(element);
        open.delete(event.addr);
      } else {
        elements.push(event);
        initially.push(elements.length - 1);
        actions.push(elements.length - 1);
      }
    }
  }
  for (const segment of snapshot.segments) {
    for (const block of segment.blocks) {
      if (block.state !== 'active_allocated' || open.has(block.address)) continue;
      elements.push({ addr: block.address, size: block.requested ?? block.size });
      initially.push(elements.length - 1);
    }
  }
  initially.reverse();
  const listed = [...initially];
  if (actions.length === 0 && initially.length > 0) actions.push(initially.pop()!);
  const current = new Set<number>();
  let total = 0;
  let peak = 0;
  for (const element of initially) {
    current.add(element);
    total += elements[element]!.size;
  }
  for (const element of actions) {
    const { size } = elements[element]!;
    if (current.delete(element)) total -= size;
    else {
      current.add(element);
      total += size;
    }
    peak = Math.max(peak, total);
  }
  return { plottedPeak: peak, initially: listed.map((element) => elements[element]!), elements: elements.length };
}

export interface VizState {
  /** The state holds after this entry of the recorded trace. */
  readonly afterSeq: number;
  readonly reserved: number;
  readonly allocated: number;
  readonly segments: readonly { readonly addr: number; readonly size: number }[];
  readonly blocks: readonly { readonly addr: number; readonly requested: number; readonly pending: boolean }[];
}

/**
 * The Allocator State History: the state after event `index` of {@link vizEvents}, by undoing what follows. −1 is
 * before the first. Undefined where the page loses track and throws or drops a segment at random: it joins a run that
 * is mapped again with any neighbour of the same stream, also one of another reservation or of cudaMalloc, and later
 * does not find what it looks for.
 */
export function vizState(snapshot: VizSnapshot, index: number): VizState | undefined {
  let lost = false;
  const { events } = vizEvents(snapshot);
  const segments = snapshot.segments
    .map(({ address, size, stream }) => ({ addr: address, size, stream }))
    .sort((a, b) => a.addr - b.addr);
  const blocks = new Map<number, { addr: number; requested: number; pending: boolean }>();
  for (const segment of snapshot.segments) {
    for (const block of segment.blocks) {
      if (block.state !== 'active_allocated' && block.state !== 'active_pending_free') continue;
      const pending = block.state === 'active_pending_free';
      blocks.set(block.address, { addr: block.address, requested: block.requested ?? block.size, pending });
    }
  }
  const add = (merge: boolean, segment: { addr: number; size: number; stream: number | null }): void => {
    let at = segments.findIndex((other) => other.addr > segment.addr);
    // The page inserts before the last segment if none follows; its order is repaired when it draws.
    if (at === -1) at = segments.length;
    segments.splice(at, 0, segment);
    if (!merge) return;
    const next = segments[at + 1];
    if (next !== undefined && segment.addr + segment.size === next.addr && segment.stream === next.stream) {
      segment.size += next.size;
      segments.splice(at + 1, 1);
    }
    const previous = segments[at - 1];
    if (
      previous !== undefined &&
      previous.addr + previous.size === segment.addr &&
      previous.stream === segment.stream
    ) {
      previous.size += segment.size;
      segments.splice(at, 1);
    }
  };
  const remove = (merge: boolean, segment: { addr: number; size: number; stream: number | null }): void => {
    if (!merge) {
      const at = segments.findIndex((other) => other.addr === segment.addr && other.size === segment.size);
      if (at < 0) lost = true;
      else segments.splice(at, 1);
      return;
    }
    const end = segment.addr + segment.size;
    const at = segments.findIndex((other) => other.addr <= segment.addr && end <= other.addr + other.size);
    const existing = segments[at];
    if (existing === undefined) {
      lost = true;
      return;
    }
    const existingEnd = existing.addr + existing.size;
    if (existing.addr === segment.addr) {
      existing.addr += segment.size;
      existing.size -= segment.size;
      if (existing.size === 0) segments.splice(at, 1);
    } else if (existingEnd === end) existing.size -= segment.size;
    else {
      existing.size = segment.addr - existing.addr;
      segments.splice(at + 1, 0, { addr: end, size: existingEnd - end, stream: segment.stream });
    }
  };
  for (let i = events.length - 1; i > index && !lost; i -= 1) {
    const { action, addr, size, stream } = events[i]!;
    if (action === 'free') blocks.set(addr, { addr, requested: size, pending: false });
    else if (action === 'free_completed') blocks.set(addr, { addr, requested: size, pending: true });
    else if (action === 'free_requested') blocks.get(addr)!.pending = false;
    else if (action === 'alloc') blocks.delete(addr);
    else if (action === 'segment_free' || action === 'segment_unmap')
      add(action === 'segment_unmap', { addr, size, stream });
    else if (action === 'segment_alloc' || action === 'segment_map')
      remove(action === 'segment_map', { addr, size, stream });
  }
  if (lost) return undefined;
  const live = [...blocks.values()].sort((a, b) => a.addr - b.addr);
  return {
    afterSeq: index < 0 ? -1 : events[index]!.lastSeq,
    reserved: segments.reduce((sum, segment) => sum + segment.size, 0),
    allocated: live.reduce((sum, block) => sum + block.requested, 0),
    segments: segments.map(({ addr, size }) => ({ addr, size })),
    blocks: live,
  };
}

/** Σ gap² / (Σ segment)² of the dump. */
export function vizFragmentation({ segments }: VizSnapshot): number {
  let total = 0;
  let squares = 0;
  for (const segment of segments) {
    let at = segment.address;
    total += segment.size;
    for (const block of segment.blocks) {
      if (block.state !== 'active_allocated' && block.state !== 'active_pending_free') continue;
      squares += (block.address - at) ** 2;
      at = block.address + block.size;
    }
    squares += (segment.address + segment.size - at) ** 2;
  }
  return squares / total ** 2;
}
