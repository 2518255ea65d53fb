/**
 * Hyperparameters of the `hparams` plugin, as Lightning and torch's `add_hparams` write them: one summary whose
 * metadata holds a map. Upstream: tensorboard `plugins/hparams/plugin_data.proto` (`session_start_info`),
 * `google/protobuf/struct.proto`.
 */
import type { PbfReader } from 'pbf';
import { type Range, range, readMessage, readText } from './event.js';

export const HPARAMS_PLUGIN = 'hparams';
/** A configuration has a few hundred settings. */
const MOST_SETTINGS = 20_000;

export interface Hyperparameter {
  readonly name: string;
  readonly text: string;
}

export function readHyperparameters(pbf: PbfReader, content: Range): Hyperparameter[] {
  const settings: Hyperparameter[] = [];
  readMessage(pbf, content, (number) => {
    if (number !== 3) return;
    const session = range(pbf, content.end);
    const entries: Range[] = [];
    readMessage(pbf, session, (part) => {
      if (part === 1 && entries.length < MOST_SETTINGS) entries.push(range(pbf, session.end));
    });
    for (const entry of entries) {
      let name = '';
      let text: string | undefined;
      readMessage(pbf, entry, (part) => {
        if (part === 1) name = readText(pbf, entry.end);
        else if (part === 2) {
          const value = range(pbf, entry.end);
          text = structText(pbf, value);
          pbf.pos = value.end;
        }
      });
      if (name !== '' && text !== undefined) settings.push({ name, text });
    }
    pbf.pos = session.end;
  });
  return settings;
}

/** A `google.protobuf.Value` as Python would print it; undefined for lists and structures. */
function structText(pbf: PbfReader, value: Range): string | undefined {
  let text: string | undefined;
  readMessage(pbf, value, (kind) => {
    if (kind === 1) text = 'None';
    else if (kind === 2 && pbf.type === 1) text = String(pbf.readDouble());
    else if (kind === 3) text = readText(pbf, value.end);
    else if (kind === 4 && pbf.type === 0) text = pbf.readBoolean() ? 'True' : 'False';
  });
  return text;
}
