/** Words for memory that had been freed and was still in use by another stream. */
import { formatBytes } from '../../../model/units.js';
import { type CauseWords, numberOf, unknownReason } from './words.js';

const NEXT: readonly string[] = [
  'look at record_stream() on the large buffers of the communication stream; wait for it before the big allocation',
];

export const synchronisation: CauseWords = (answer, facts, evidence) => {
  const bytes = (name: string): string => formatBytes(numberOf(answer, name));
  switch (answer.reason) {
    case 'not_in_messages':
      return { text: 'a memory snapshot taken at the OOM (pending frees are in no message)' };
    case 'does_not_decide':
      return { text: `${bytes('pending_bytes')} of pending frees do not decide it` };
    case 'nothing_waited':
      return { text: 'no freed block was waiting for another stream' };
    case 'pending': {
      const pending = bytes('pending_bytes');
      evidence.add(`${pending} were freed but still in use by another stream (record_stream)`, facts.pending!.source);
      return {
        text: `${pending} of freed memory was waiting for another stream; without it the request fits`,
        next: NEXT,
      };
    }
    case 'freed_by_wait': {
      const largest = bytes('largest_usable_bytes');
      evidence.add(
        `${bytes('freed_by_wait_bytes')} came free only while the allocator waited for other streams, a block of ${largest} with them that would have served the request; torch does not search again after that (pytorch issue 189504)`,
        facts.freedByWait!.source,
      );
      return {
        text: `${largest} in one piece had been freed but was still in use by another stream when the request came`,
        next: NEXT,
      };
    }
  }
  return unknownReason(answer);
};
