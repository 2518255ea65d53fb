/** A file of `--formats` that is valid: the help of `explain formats` shows it, and a test reads it. */
export const EXAMPLE_FORMATS = `formats:
  - id: ours.step
    anchors: ['step summary: ']
    pattern: 'step summary: it=(?<it>\\d{1,9}) sec=(?<sec>[\\d.]{1,12}) loss=(?<loss>[-\\d.]{1,12}) peak=(?<peak>[\\d.]{1,9})GiB'
    sample: 'step summary: it=12 sec=1.25 loss=2.31 peak=71.20GiB'
    rows:
      - { iteration: it, columns: { stepMs: sec|ms_of_s, loss: loss } }
      - { memory: max_reserved, of: peak, unit: GiB, iteration: it, moment: after iteration }
`;
