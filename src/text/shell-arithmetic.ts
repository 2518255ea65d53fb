/**
 * `$(( … ))` over whole numbers: + - * / % and parentheses, as launch scripts multiply nodes by GPUs. Anything else is
 * unknown.
 */

const TOKEN = /\s*(?:(\d{1,15})|\$?\{?([A-Za-z_]\w{0,99})\}?|([-+*/%()]))/y;
const MOST_TOKENS = 200;

/**
 * Null where the expression holds anything else, a name without a whole number, or a division by zero.
 *
 * @param lookUp the text of a variable, or null
 */
export function evaluateArithmetic(expression: string, lookUp: (name: string) => string | null): number | null {
  const tokens: (number | string)[] = [];
  const text = expression.trim();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const match = TOKEN.exec(text);
    if (match === null || tokens.length >= MOST_TOKENS) return null;
    if (match[3] !== undefined) tokens.push(match[3]);
    else {
      const word = match[1] ?? lookUp(match[2]!);
      if (word === null || !/^-?\d{1,15}$/.test(word)) return null;
      tokens.push(Number(word));
    }
  }
  let at = 0;
  const factor = (): number => {
    const token = tokens[at];
    at += 1;
    if (typeof token === 'number') return token;
    if (token === '-') return -factor();
    if (token !== '(') return Number.NaN;
    const value = sum();
    if (tokens[at] !== ')') return Number.NaN;
    at += 1;
    return value;
  };
  const product = (): number => {
    let value = factor();
    for (let sign = tokens[at]; sign === '*' || sign === '/' || sign === '%'; sign = tokens[at]) {
      at += 1;
      const operand = factor();
      value = sign === '*' ? value * operand : sign === '/' ? Math.trunc(value / operand) : value % operand;
    }
    return value;
  };
  const sum = (): number => {
    let value = product();
    for (let sign = tokens[at]; sign === '+' || sign === '-'; sign = tokens[at]) {
      at += 1;
      const operand = product();
      value = sign === '+' ? value + operand : value - operand;
    }
    return value;
  };
  const value = sum();
  return at === tokens.length && Number.isSafeInteger(value) ? value : null;
}
