/** What walks need of a snapshot besides its traces, collected from the rows as they pass. */
import type { FinalState } from '../../allocator/walk/walk-input.js';
import { type ColumnBatch, ENUMS, getI64, LAYOUTS, NULL_HIGH, NULL_U8 } from '../../model/columns.js';
import type { Dictionary } from '../../model/parser.js';
import { type Annotation, marksStep } from './steps.js';

const INACTIVE = ENUMS.block_state.indexOf('inactive');

interface DeviceDump {
  readonly segments: Record<'address' | 'bytes' | 'stream' | 'type' | 'pool' | 'expandable', number[]>;
  readonly blocks: Record<'address' | 'bytes' | 'requested' | 'state' | 'stack', number[]>;
}

/** The segments and active blocks of each device at the dump. */
export class DumpedState {
  private readonly devices = new Map<number, DeviceDump>();

  segments(batch: ColumnBatch): void {
    const { device, address, total_bytes, stream, segment_type, pool, is_expandable } = batch.columns(LAYOUTS.segment);
    for (let row = 0; row < batch.rows; row += 1) {
      const { segments } = this.ofDevice(device[row]!);
      segments.address.push(unsigned(address, row));
      segments.bytes.push(getI64(total_bytes, row));
      segments.stream.push(known(stream, row, Number.NaN));
      segments.type.push(segment_type[row]!);
      segments.pool.push(pool[row]!);
      segments.expandable.push(is_expandable[row] === NULL_U8 ? 0 : is_expandable[row]!);
    }
  }

  blocks(batch: ColumnBatch): void {
    const { device, address, size_bytes, requested_bytes, state, stack_id } = batch.columns(LAYOUTS.block);
    for (let row = 0; row < batch.rows; row += 1) {
      if (state[row] === INACTIVE) continue;
      const { blocks } = this.ofDevice(device[row]!);
      blocks.address.push(unsigned(address, row));
      blocks.bytes.push(getI64(size_bytes, row));
      blocks.requested.push(known(requested_bytes, row, -1));
      blocks.state.push(state[row]!);
      blocks.stack.push(stack_id[row]!);
    }
  }

  of(device: number): FinalState {
    const { segments, blocks } = this.ofDevice(device);
    return {
      segments: {
        count: segments.address.length,
        address: Float64Array.from(segments.address),
        totalBytes: Float64Array.from(segments.bytes),
        stream: Float64Array.from(segments.stream),
        type: Uint8Array.from(segments.type),
        pool: Int32Array.from(segments.pool),
        expandable: Uint8Array.from(segments.expandable),
      },
      blocks: {
        count: blocks.address.length,
        address: Float64Array.from(blocks.address),
        sizeBytes: Float64Array.from(blocks.bytes),
        requestedBytes: Float64Array.from(blocks.requested),
        state: Uint8Array.from(blocks.state),
        stackId: Int32Array.from(blocks.stack),
      },
    };
  }

  private ofDevice(device: number): DeviceDump {
    let dump = this.devices.get(device);
    if (dump === undefined) {
      dump = {
        segments: { address: [], bytes: [], stream: [], type: [], pool: [], expandable: [] },
        blocks: { address: [], bytes: [], requested: [], state: [], stack: [] },
      };
      this.devices.set(device, dump);
    }
    return dump;
  }
}

/** The annotations of training steps. */
export class StepAnnotations {
  private readonly found: Annotation[] = [];
  private readonly dictionary: Dictionary;
  private readonly names = new Map<number, string | null>();

  constructor(dictionary: Dictionary) {
    this.dictionary = dictionary;
  }

  add(batch: ColumnBatch): void {
    const { ordinal, stage, name_id, device, time_us } = batch.columns(LAYOUTS.annotation);
    for (let row = 0; row < batch.rows; row += 1) {
      const of = ENUMS.annotation_stage[stage[row]!];
      const text = this.stepName(name_id[row]!);
      const timeUs = known(time_us, row, Number.NaN);
      if (text === null || Number.isNaN(timeUs) || (of !== 'START' && of !== 'END')) continue;
      this.found.push({
        ordinal: ordinal[row]!,
        stage: of,
        name: text,
        device: device[row]! < 0 ? null : device[row]!,
        time_us: timeUs,
      });
    }
  }

  list(): readonly Annotation[] {
    return this.found;
  }

  private stepName(id: number): string | null {
    let name = this.names.get(id);
    if (name === undefined) {
      const text = this.dictionary.text(id);
      name = marksStep(text) ? text : null;
      this.names.set(id, name);
    }
    return name;
  }
}

function known(column: Uint32Array, row: number, otherwise: number): number {
  return column[row * 2 + 1] === NULL_HIGH && column[row * 2] === 0 ? otherwise : getI64(column, row);
}

function unsigned(column: Uint32Array, row: number): number {
  return column[row * 2 + 1]! * 4294967296 + column[row * 2]!;
}
