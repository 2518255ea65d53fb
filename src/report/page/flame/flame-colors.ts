/** Colours of frames: the hue is the package's, the lightness the file's, the same in every picture. Pure. */

/** `function file.py:12` → `file.py`; '' without a place. */
export const fileOf = (frame: string): string => /(\S+):\d+$/.exec(frame)?.[1] ?? '';

export function frameColor(frame: string, dark: boolean): string {
  const path = fileOf(frame).replaceAll('\\', '/');
  if (path === '') return dark ? '#39424b' : '#d5dbe0';
  const installed = /^.*(?:site|dist)-packages\/([^/]*)/.exec(path)?.[1];
  const parts = path.split('/').slice(-3);
  const hue = hash(installed ?? parts[0]!) % 360;
  const shade = hash(path);
  return dark
    ? `hsl(${hue} ${24 + (shade % 12)}% ${30 + (shade % 9)}%)`
    : `hsl(${hue} ${46 + (shade % 18)}% ${77 + (shade % 10)}%)`;
}

/** FNV-1a of the UTF-16 code units. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}
