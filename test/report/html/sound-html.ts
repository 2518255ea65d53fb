/** Reads HTML and XML of our own: elements with their attributes, and texts. Fails for what is not well nested. */

export interface Node {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: (Node | string)[];
}

const VOID = new Set(['br', 'hr', 'link', 'meta', 'wbr']);
const TOKEN =
  /<!doctype html>|<\?xml [^<>]*\?>|<(\/?)([a-z][a-zA-Z0-9-]*)((?:\s+[a-zA-Z:-]+(?:="[^"<]*")?)*)\s*(\/?)>|[^<]+|</g;

/** Throws for an end tag without its start, a start without its end, and any other `<`. */
export function readHtml(html: string): Node {
  const root: Node = { name: '', attributes: new Map(), children: [] };
  const open = [root];
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(html); match !== null; match = TOKEN.exec(html)) {
    const [token, end, name, attributes = '', closed] = match;
    const parent = open.at(-1)!;
    if (token === '<') throw new Error(`a stray < before ${html.slice(match.index, match.index + 60)}`);
    if (/^<[!?]/.test(token)) continue;
    if (name === undefined) parent.children.push(unescaped(token));
    else if (end === '/') {
      if (parent.name !== name) throw new Error(`</${name}> ends <${parent.name}>`);
      open.pop();
    } else {
      const node: Node = { name, attributes: attributesOf(attributes), children: [] };
      parent.children.push(node);
      if (name === 'script' || name === 'style') {
        const to = html.indexOf(`</${name}>`, TOKEN.lastIndex);
        node.children.push(html.slice(TOKEN.lastIndex, to));
        TOKEN.lastIndex = to + `</${name}>`.length;
      } else if (!VOID.has(name) && closed !== '/') open.push(node);
    }
  }
  if (open.length > 1) throw new Error(`<${open.at(-1)!.name}> has no end`);
  return root;
}

function attributesOf(markup: string): Map<string, string> {
  return new Map(
    [...markup.matchAll(/([a-zA-Z:-]+)(?:="([^"]*)")?/g)].map(([, key, value = '']) => [key!, unescaped(value)]),
  );
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", '#39': "'" };

function unescaped(text: string): string {
  return text.replaceAll(/&([^;]*);/g, (entity, name: string) => ENTITIES[name] ?? `unknown entity ${entity}`);
}

/** Elements that match, in the order of the document. */
export function select(node: Node, matches: (node: Node) => boolean): Node[] {
  return node.children.flatMap((child) =>
    typeof child === 'string' ? [] : [...(matches(child) ? [child] : []), ...select(child, matches)],
  );
}

export const byName = (node: Node, name: string): Node[] => select(node, (one) => one.name === name);
export const byId = (node: Node, id: string): Node => select(node, (one) => one.attributes.get('id') === id)[0]!;
export const byClass = (node: Node, name: string): Node[] =>
  select(node, (one) => one.attributes.get('class')?.split(' ').includes(name) === true);

export function textOf(node: Node | string): string {
  return typeof node === 'string' ? node : node.children.map(textOf).join('');
}

/** Every `data-bytes` inside, in order. */
export const bytesIn = (node: Node): number[] =>
  select(node, (one) => one.attributes.has('data-bytes')).map((one) => Number(one.attributes.get('data-bytes')));
