import { MbfError } from '../../src/model/errors.js';
import type { Head, ParserSpec } from '../../src/model/parser.js';
import { readAll } from './read-text.js';
import { recogniseConfig, sniffConfig } from './sniff.js';

const HEAD_BYTES = 65_536;

/** Configuration files, launch scripts and environments of a run. See FORMAT.md. */
export const configParser: ParserSpec = {
  id: 'config',
  title: 'configuration, launch script or environment',
  buildsTree: true,
  sniff: sniffConfig,
  async parse(source, sink, context) {
    const bytes = await readAll(source, context);
    const head: Head = { bytes: bytes.subarray(0, HEAD_BYTES), name: context.name, sizeBytes: bytes.length };
    const recognised = recogniseConfig(head);
    if (recognised === null) throw new MbfError('MBF2202', 'holds no setting of a training job');
    // With the first configuration: what reads YAML takes a good part of a start.
    const { readConfig } = await import('./read-config.js');
    return readConfig(recognised.kind, context.name, bytes, sink);
  },
};
