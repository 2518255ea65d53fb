/** Reads what the page holds. */

import type { DeviceColumns, PageData, PageDevice } from '../../model/picture/page-data.js';
import { decodeDevice } from './decode-device.js';

export interface LoadedPage {
  readonly data: PageData;
  /** Columns of a device, decoded once. */
  columnsOf(device: number): Promise<DeviceColumns>;
}

/** Throws where an element is missing, or its content cannot be read. */
export async function loadPage(): Promise<LoadedPage> {
  const data = JSON.parse(textOf('page')) as PageData;
  const decoded = new Map<number, Promise<DeviceColumns>>();
  return {
    data,
    columnsOf(device) {
      const known = decoded.get(device);
      if (known !== undefined) return known;
      const columns = readDevice(device, data.devices[device]!);
      decoded.set(device, columns);
      return columns;
    },
  };
}

/** The browser's own reason for data that cannot be inflated names a request, and there is none. */
async function readDevice(index: number, device: PageDevice): Promise<DeviceColumns> {
  const base64 = textOf(`device-${index}`);
  try {
    return decodeDevice(await inflate(bytesOf(base64)), device);
  } catch {
    throw new Error(`the data of device ${index} are damaged`);
  }
}

function textOf(id: string): string {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no element ${id}`);
  return element.textContent ?? '';
}

/** Of base64. `Uint8Array.fromBase64` is younger than some browsers on cluster nodes. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const fast = Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
  if (fast.fromBase64 !== undefined) return fast.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
