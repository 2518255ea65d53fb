import { describe, expect, it } from 'vitest';
import { applyBlock, applyLine } from '../../parsers/log/formats/apply.js';
import { SETTINGS_FORMATS } from '../../parsers/log/formats/index.js';
import { YamlLines } from '../../parsers/log/formats/settings/yaml-lines.js';
import { samplesOf } from '../support/log-samples.js';

describe('YAML by lines', () => {
  function read(lines: readonly string[]): (readonly [string, string | null])[] {
    const rows: (readonly [string, string | null])[] = [];
    const yaml = new YamlLines((path, value) => rows.push([path.join('.'), value]));
    for (const line of lines) yaml.line(line);
    yaml.end();
    return rows;
  }

  it('reads arguments of a root that is a class as any list', () => {
    expect(read(['_target_: a.B', '_args_:', '- 1', '- x'])).toEqual([
      ['_target_', 'a.B'],
      ['_args_', '[1,"x"]'],
    ]);
  });

  it('reads nested sections, lists of sections, folded and flow values', () => {
    expect(
      read([
        'trainer:',
        '  callbacks:',
        '  - _target_: a.B',
        '    every: 3',
        '  - every: 4',
        '  devices: 8',
        '  long: [1, 2,',
        '    3]',
        "  text: 'it''s'",
        '  note: |',
        '    key: no setting',
        '  after: null',
        'last:',
        '- x',
      ]),
    ).toEqual([
      ['trainer.callbacks.0._target_', 'a.B'],
      ['trainer.callbacks.0.every', '3'],
      ['trainer.callbacks.1.every', '4'],
      ['trainer.devices', '8'],
      ['trainer.long', '[1,2,3]'],
      ['trainer.text', "it's"],
      ['trainer.after', null],
      ['last', '["x"]'],
    ]);
  });

  it('gives back lines that are not part of it', () => {
    const yaml = new YamlLines(() => {});
    expect(yaml.line('model:')).toBe(true);
    expect(yaml.line('  a: 1')).toBe(true);
    for (const line of ['training ...', 'WARNING: no such thing', 'Saved to: /x y z', '> padded vocab']) {
      expect(yaml.line(line), line).toBe(false);
    }
  });
});

describe('hostile lines', () => {
  const lines = [
    '('.repeat(8000),
    `OptimizerConfig(a=${'['.repeat(8000)}`,
    'OptimizerConfig('.repeat(500),
    `+ ${'"$('.repeat(2700)}`,
    `torchrun ${'x.py --num-layers '.repeat(450)}`,
    `${'a'.repeat(4000)}.py ${'b='.repeat(2000)}`,
    `  name ${'.'.repeat(7990)}`,
    `PYTORCH_CUDA_ALLOC_CONF=${'x'.repeat(7900)}`,
    `Overriding config: ${'a=b,'.repeat(1900)}`,
    `key: ${'[ '.repeat(4000)}`,
    `${' '.repeat(8000)}- x`,
  ];

  it('stall no format', () => {
    for (const format of SETTINGS_FORMATS) {
      for (const line of lines) {
        if (format.form === 'line') applyLine(format, line, () => {});
        else {
          const first = samplesOf(format)[0]!.lines[0]!;
          applyBlock(format, [first, ...Array.from({ length: 50 }, () => line)], () => {});
        }
      }
    }
  });
});
