/** Below the segments: what to free, the largest holes, and the stacks that keep free memory from the driver. */
import { shellWord } from '../../../model/escape-controls.js';
import { counted, formatBytes, formatCount } from '../../../model/units.js';
import { element } from '../dom.js';
import { nearestWhole } from '../live-at.js';
import { addressOf, siteOf } from '../names.js';
import type { Loaded, Shared } from '../view-state.js';
import type { Enlargement, Request } from './free-to-fit.js';
import { freeingSentence, holeLine, pinningWords, releasableSentence } from './hole-words.js';
import type { LayoutAt } from './holes-at.js';
import { holesBySize, pinningStacks } from './pin-ranks.js';

const MOST_HOLES = 8;
const MOST_STACKS = 8;
const MOST_FREED = 6;

/** Where the page lacks live blocks: the command that draws all, and a button to where it has them. */
export function partialNote({ page }: Loaded, shared: Shared, seq: number): HTMLElement[] {
  const note = element(
    'p',
    'note',
    'Some blocks that are live here are not in this page, so holes are upper bounds. All of them: ',
  );
  const at = page.isDump ? 'end' : seq < page.firstSeq ? 'start' : `seq:${seq}`;
  note.append(
    element('code', '', `mbforensics state ${shellWord(page.handle)} --device ${page.device} --at ${at} --map`),
  );
  const nearest = nearestWhole(page, seq);
  if (nearest === null) return [note];
  const button = element('button', '', `go to the nearest whole moment, entry ${formatCount(nearest)}`);
  button.type = 'button';
  button.addEventListener('click', () => shared.set({ cursor: nearest }));
  return [note, button];
}

/** Columns of lists, in the order of their use. */
export function listsOf(
  { columns }: Loaded,
  shared: Shared,
  at: LayoutAt,
  request: Request | null,
  run: Enlargement | null,
): HTMLElement[] {
  const sides = [element('div'), element('div')] as const;
  const add = (side: 0 | 1, title: string, items: readonly HTMLElement[], note = ''): void => {
    if (items.length === 0 && note === '') return;
    const list = element('ol');
    list.append(...items);
    sides[side].append(element('h3', '', title), list);
    if (note !== '') sides[side].append(element('p', 'note', note));
  };
  const stackItem = (stack: number, before: string, after: string): HTMLElement => {
    const item = element('li');
    if (before !== '') item.append(before);
    if (stack < 0) item.append(siteOf(columns, stack));
    else {
      const button = element('button', 'stack', siteOf(columns, stack));
      button.type = 'button';
      button.setAttribute('aria-pressed', String(shared.get().stack === stack));
      button.addEventListener('click', () => shared.set({ stack: shared.get().stack === stack ? null : stack }));
      item.append(button);
    }
    item.append(after);
    return item;
  };
  if (run !== null) {
    const { blocks } = columns;
    const freed = Array.from(at.live.blocks.subarray(run.first, run.end)).sort(
      (a, b) => blocks.bytes[b]! - blocks.bytes[a]!,
    );
    const items = freed
      .slice(0, MOST_FREED)
      .map((block) =>
        stackItem(
          blocks.stack[block]!,
          `${formatBytes(blocks.bytes[block]!)} `,
          ` at ${addressOf(columns, blocks.place[block]!)}`,
        ),
      );
    const more = freed.length - items.length;
    add(0, freeingSentence(run), items, more > 0 ? `${counted(more, 'more block')}, all next to each other.` : '');
  }
  const kept = holesBySize(at).filter(({ reason }) => reason !== 'releasable');
  add(
    1,
    'Largest holes that are kept from the driver',
    kept.slice(0, MOST_HOLES).map((hole) => element('li', '', holeLine(columns, at, hole, request))),
    [kept.length > MOST_HOLES ? `${counted(kept.length - MOST_HOLES, 'more hole')}.` : '', releasableSentence(at)]
      .join(' ')
      .trim(),
  );
  const stacks = pinningStacks(columns, at);
  add(
    0,
    'Stacks that keep free memory from the driver',
    stacks.slice(0, MOST_STACKS).map((rank) => stackItem(rank.stack, '', ` ${pinningWords(rank)}`)),
    stacks.length > MOST_STACKS
      ? `${counted(stacks.length - MOST_STACKS, 'more stack')}. Several may keep the same memory.`
      : '',
  );
  return sides.filter((side) => side.childElementCount > 0);
}
