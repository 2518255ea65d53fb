/** Views whose rows are put together, and the order that they are expected in. */
const ORDER: Readonly<Record<string, string>> = { event: 'snapshot_id, device, seq' };

/** The statement that reads a table or view as it is. */
export function wholeTable(table: string): string {
  const order = ORDER[table];
  return `FROM "${table.replaceAll('"', '""')}"${order === undefined ? '' : ` ORDER BY ${order}`}`;
}
