/** The statement that reads a table or view as it is. */
export function wholeTable(table: string): string {
  return `FROM "${table.replaceAll('"', '""')}"`;
}
