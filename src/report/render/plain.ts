/** Texts of a document without markup. Pure. */
import { type Cell, piecesOf, type TableColumn, type Text } from '../document/document.js';
import { formatValue, UNKNOWN } from '../document/values.js';

export function plainText(text: Text): string {
  return piecesOf(text)
    .map((piece) => {
      if (typeof piece === 'string') return piece;
      if ('value' in piece) return piece.text ?? formatValue(piece.value, piece.unit);
      if ('code' in piece) return piece.code;
      if ('word' in piece) return piece.word;
      return 'mark' in piece ? piece.mark : `[${piece.handle}]`;
    })
    .join('');
}

export function cellText(cell: Cell, { unit }: Pick<TableColumn, 'unit'>): string {
  if (cell === null) return UNKNOWN;
  if (typeof cell === 'number') return formatValue(cell, unit);
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  return plainText(cell);
}
