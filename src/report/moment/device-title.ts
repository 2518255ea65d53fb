/** The device of a snapshot, as the title of what is about it. */
import type { DeviceAt } from '../../model/results/at.js';
import { as, code, joined, type Text, t } from '../document/document.js';

export const deviceTitle = ({ path, rank, device }: Pick<DeviceAt, 'path' | 'rank' | 'device'>): Text =>
  joined([as('path', code(path)), rank !== null && t`rank ${rank}`, t`device ${device}`], ' · ');
