/** A typed array of twice the length with the same content: columns of tables whose size is not known beforehand. */
export function growColumn<T extends Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>>(
  column: T,
): T {
  const grown = new (column.constructor as new (length: number) => T)(column.length * 2);
  grown.set(column);
  return grown;
}
