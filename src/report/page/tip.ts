/** What is below the pointer, in a box next to it. */
import { element } from './dom.js';

interface Tip {
  /** `x`, `y`: CSS pixels in the holder. The first line is the title. Hidden without lines. */
  show(x: number, y: number, lines: readonly string[]): void;
  hide(): void;
}

/** Lines on what is below the pointer, unless a button is pressed. `link`: whether a click there does something. */
export function attachTip(
  canvas: HTMLCanvasElement,
  holder: HTMLElement,
  at: (event: PointerEvent) => { readonly lines: readonly string[]; readonly link?: boolean },
): void {
  const tip = newTip(holder);
  canvas.addEventListener('pointermove', (event) => {
    if (event.buttons !== 0) return tip.hide();
    const { lines, link } = at(event);
    // Where the box is within what scrolls.
    tip.show(event.offsetX, event.offsetY - (canvas.closest('.flame-scroll')?.scrollTop ?? 0), lines);
    if (link !== undefined) canvas.style.setProperty('cursor', link ? 'pointer' : 'default');
  });
  canvas.addEventListener('pointerleave', () => tip.hide());
}

/** CSS pixels between pointer and box. */
const GAP = 14;

/** `holder` must be positioned. */
function newTip(holder: HTMLElement): Tip {
  const box = element('div', 'tip');
  box.hidden = true;
  // The canvas has a description; the box repeats it for the pointer.
  box.setAttribute('aria-hidden', 'true');
  holder.append(box);
  let shown = '';
  return {
    show: (x, y, lines) => {
      const text = lines.join('\n');
      if (text === '') {
        box.hidden = true;
        return;
      }
      if (text !== shown) {
        shown = text;
        box.replaceChildren(...lines.map((line, i) => element('div', i === 0 ? 'tip-title' : '', line)));
      }
      box.hidden = false;
      const { offsetWidth, offsetHeight } = box;
      const left = x + GAP + offsetWidth > holder.clientWidth ? Math.max(0, x - GAP - offsetWidth) : x + GAP;
      const isBelow = y + GAP + offsetHeight <= holder.clientHeight || y - GAP - offsetHeight < -40;
      box.style.setProperty('left', `${left}px`);
      box.style.setProperty('top', `${isBelow ? y + GAP : y - GAP - offsetHeight}px`);
    },
    hide: () => {
      box.hidden = true;
    },
  };
}
