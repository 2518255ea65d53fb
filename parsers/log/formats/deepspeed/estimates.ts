import type { BlockCode } from '../contract.js';
import { figureFinding } from '../system/findings.js';
import { GIB } from '../units.js';

const HARDWARE = /HW: Setup with (?<nodes>\d{1,6}) nodes?, (?<gpus>\d{1,4}) GPUs? per node/;
const SOFTWARE = /SW: Model with (?<total>\d{1,9})M total params(?:, (?<largest>\d{1,9})M largest layer params)?/;
const HEADING = /per CPU {1,4}\| {1,4}per GPU \|/;
const ROW =
  /^\s{0,8}(?<host>\d{1,9}\.\d\d)GB \| {1,8}(?<device>\d{1,9}\.\d\d)GB \| (?<options>(?:[a-z_]{1,24}=\w{1,8}[ ,]{0,3}){1,4})\s{0,8}$/;

export const DEEPSPEED_ESTIMATE: BlockCode = {
  id: 'deepspeed.estimate',
  begin(_match, emit) {
    let rows = 0;
    return {
      line(text) {
        const hardware = HARDWARE.exec(text)?.groups;
        if (hardware !== undefined) {
          const devices = Number(hardware['nodes']) * Number(hardware['gpus']);
          emit(figureFinding('theory.zero.devices', devices, 'count'));
          return 'taken';
        }
        const software = SOFTWARE.exec(text)?.groups;
        if (software !== undefined) {
          emit({
            ...figureFinding('theory.zero.parameters', Number(software['total']) * 1e6, 'elements'),
            text: `${software['total']}M`,
          });
          if (software['largest'] !== undefined)
            emit({
              ...figureFinding('theory.zero.largest_layer', Number(software['largest']) * 1e6, 'elements'),
              text: `${software['largest']}M`,
            });
          return 'taken';
        }
        if (HEADING.test(text)) return 'taken';
        const { host = '', device = '', options = '' } = ROW.exec(text)?.groups ?? {};
        if (options === '') return rows > 0 ? 'over' : 'foreign';
        rows += 1;
        const where = options.replaceAll(/[\s,]+/g, ',').replace(/,$/, '');
        for (const [name, printed] of [
          ['device', device],
          ['host', host],
        ] as const) {
          emit({
            ...figureFinding(`theory.zero.${name}[${where}]`, Math.round(Number(printed) * GIB), 'bytes'),
            text: `${printed} GB`,
          });
        }
        return 'taken';
      },
    };
  },
};
