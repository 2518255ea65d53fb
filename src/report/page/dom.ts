/** Elements of the views. Text is set as text only. */

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className = '',
  text = '',
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className !== '') made.className = className;
  if (text !== '') made.textContent = text;
  return made;
}

/** Buttons of which one is pressed. What cannot be chosen has the reason in its tooltip, and can be focused for it. */
export function choice<T extends string>(
  label: string,
  options: readonly (readonly [value: T, text: string, missing?: string | null])[],
  choose: (value: T) => void,
): { readonly root: HTMLElement; show(value: T): void } {
  const root = element('div', 'choice');
  root.setAttribute('role', 'group');
  root.setAttribute('aria-label', label);
  root.append(element('span', 'choice-label', label));
  const buttons = options.map(([value, text, missing = null]) => {
    const button = element('button', '', text);
    button.type = 'button';
    if (missing === null) button.addEventListener('click', () => choose(value));
    else {
      button.setAttribute('aria-disabled', 'true');
      button.title = missing;
    }
    root.append(button);
    return button;
  });
  return {
    root,
    show: (value) => {
      for (const [i, button] of buttons.entries())
        button.setAttribute('aria-pressed', String(options[i]![0] === value));
    },
  };
}

/** Milliseconds between two texts for screen readers. */
const QUIET = 700;

/** Writes the last text to a line that is read aloud, not more often than it can be read. */
export function announcer(spoken: HTMLElement): (text: string) => void {
  spoken.className = 'unseen';
  spoken.setAttribute('aria-live', 'polite');
  let last = '';
  let isWaiting = false;
  return (text) => {
    last = text;
    if (!isWaiting)
      setTimeout(() => {
        isWaiting = false;
        setText(spoken, last);
      }, QUIET);
    isWaiting = true;
  };
}

/** Changes what a drawing is called unless it is the same. */
export function setLabel(canvas: HTMLCanvasElement, label: string): void {
  if (canvas.getAttribute('aria-label') !== label) canvas.setAttribute('aria-label', label);
}

/** Sets the text unless it is the same: a change forces a layout. */
export function setText(target: HTMLElement, text: string, title = ''): void {
  if (target.textContent !== text) target.textContent = text;
  if (target.title !== title) target.title = title;
}
