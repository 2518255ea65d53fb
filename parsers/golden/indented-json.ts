/** Figures as written in the file, by key. */
export interface Written extends ReadonlyMap<string, string | Written> {}

/** As `json.dumps(…, indent=4)` lays it out, with a line end after it. */
export function indentedJson(values: Written): string {
  return `${indented(values, '')}\n`;
}

function indented(values: Written, margin: string): string {
  if (values.size === 0) return '{}';
  const inner = `${margin}    `;
  const lines = [...values].map(([key, value]) => {
    const text = typeof value === 'string' ? value : indented(value, inner);
    return `${inner}${JSON.stringify(key)}: ${text}`;
  });
  return `{\n${lines.join(',\n')}\n${margin}}`;
}

/** Above this Python writes an exponent. */
const MOST_PLAIN = 1e16;

/**
 * A float as Python writes it: `521037888.0`, `NaN`, `Infinity`. A golden file written anew then differs where figures
 * do.
 */
export function pythonFloat(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  if (Number.isInteger(value) && Math.abs(value) < MOST_PLAIN) return `${value}.0`;
  return String(value);
}
