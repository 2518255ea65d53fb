/** Pinned memory of the host in one sentence. */
import type { PinnedHostMemory } from '../model/results/common.js';
import { formatBytes } from '../model/units.js';
import { printable } from './plain-text.js';
import { counted } from './text-pieces.js';

export function pinnedText(pinned: PinnedHostMemory): string {
  const { site, site_bytes: siteBytes } = pinned;
  const most = site === null || siteBytes === null ? '' : `; ${formatBytes(siteBytes)} from ${printable(site)}`;
  const blocks = counted(pinned.blocks, 'block', 'blocks');
  return `${formatBytes(pinned.total_bytes)} pinned in ${blocks}, ${formatBytes(pinned.active_bytes)} in use${most}`;
}
