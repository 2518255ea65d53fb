import type { BlockCode } from '../contract.js';
import { MIB, memoryFigure } from '../units.js';
import { figureFinding, wordFinding } from './findings.js';

const DEVICE_ROW =
  /^\| {1,5}(\d{1,3}) {1,4}(\S(?:[^|\n]{0,48}\S)?) {1,24}(?:On|Off|N\/A) {0,4}\| {0,4}[\dA-Fa-f]{4,8}:[\dA-Fa-f]{2}:/;
const MEMORY_ROW = /\| {1,14}(\d{1,9})MiB {0,2}\/ {1,8}(\d{1,9})MiB {0,2}\|/;
const PROCESS_ROW =
  /^\| {1,5}(\d{1,3}) (?: {0,4}(?:N\/A|\d{1,3}) {1,4}(?:N\/A|\d{1,3}))? {1,14}(\d{1,10}) {1,6}([CGM+]{1,4}) {1,4}(\S[^|\n]{0,60}?) {1,60}(\d{1,9})MiB {0,2}\|/;
const PROCESSES = /^\| {1,2}Processes:/;

/** Processes are listed per device, but only those of the own container show. */
export const NVIDIA_SMI: BlockCode = {
  id: 'nvidia-smi.table',
  begin(match, emit) {
    const { driver = '', cuda } = match.groups ?? {};
    emit(wordFinding('version.driver', driver));
    if (cuda !== undefined) emit(wordFinding('version.cuda_driver', cuda));
    let device: number | undefined;
    let inProcesses = false;
    return {
      line(text) {
        const line = text.trim();
        if (line.includes('| NVIDIA-SMI ')) return 'over';
        if (line === '') return 'foreign';
        if (!line.startsWith('|') && !line.startsWith('+')) return 'foreign';
        if (PROCESSES.test(line)) inProcesses = true;
        if (inProcesses) {
          // The rule below the processes is the last line; the one below their title is made of `=`.
          if (line.startsWith('+-')) return 'last';
          const process = PROCESS_ROW.exec(line);
          if (process === null) return 'taken';
          const [, index = '', pid = '', , name = '', used = ''] = process;
          emit({
            ...figureFinding('gpu.process', Number(used) * MIB, 'bytes', { device: Number(index) }),
            text: `pid ${pid} ${name}`,
          });
          return 'taken';
        }
        const row = DEVICE_ROW.exec(line);
        if (row !== null) {
          device = Number(row[1]);
          emit(wordFinding('gpu.name', row[2]!, { device }));
          return 'taken';
        }
        const memory = device === undefined ? null : MEMORY_ROW.exec(line);
        if (memory !== null && device !== undefined) {
          emit(memoryFigure('device_used', memory[1]!, 'MiB', MIB, { device }));
          emit(memoryFigure('device_total', memory[2]!, 'MiB', MIB, { device }));
          device = undefined;
        }
        return 'taken';
      },
    };
  },
};
