/** By their numbers: 0.16.1 is after 0.16 and 2.11.0a0+git is 2.11; what follows the numbers is not looked at. */
export function compareVersions(a: string, b: string): number {
  const parts = (text: string): number[] => (/\d+(?:\.\d+)*/.exec(text)?.[0] ?? '0').split('.').map(Number);
  const [left, right] = [parts(a), parts(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** torch 2.1 changed the words of an OOM: `GPU 0 has a total capacity of`. Null where none is of the older kind. */
export function torchOfMessages(messages: readonly { readonly text: string }[]): string | null {
  const isOld = messages.some(({ text }) =>
    /already allocated;.{0,200}(?:reserved in total by PyTorch|cached\))/s.test(text),
  );
  return isOld ? '2.0 or older' : null;
}
