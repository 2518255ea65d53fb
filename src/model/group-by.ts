/** Rows by key, in the order of their first row. Keys are compared as those of a Map. */
export function groupBy<Row, Key>(rows: Iterable<Row>, keyOf: (row: Row) => Key): Map<Key, Row[]> {
  const groups = new Map<Key, Row[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [row]);
    else known.push(row);
  }
  return groups;
}

/** The value of a key; `make`'s where the map has none, which it then keeps. */
export function getOrAdd<Key, Value>(
  map: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** {@link getOrAdd} for answers that repeat: the map is emptied when it has `most` keys. `make` gives no undefined. */
export function remember<Value>(map: Map<string, Value>, most: number, key: string, make: () => Value): Value {
  if (map.size >= most && !map.has(key)) map.clear();
  return getOrAdd(map, key, make);
}
