import type { LogFormat } from '../formats/contract.js';
import { failureLine } from './failure-line.js';

const PG = 'pytorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp';
/** `[PG 0 Rank 25] `, `[PG ID 1 PG GUID 1(default_pg) Rank 1]  `, `[Rank 7] `, once or twice. */
const RANK = String.raw`(?:\[(?:PG [^\]\n]{1,120} )?Rank (?<rank>\d{1,6})\]\s{0,4})?(?:\[(?:PG [^\]\n]{1,120} )?Rank \d{1,6}\]\s{0,4})?`;

/** Collectives that did not end and peers that went away: nearly always the victims of another rank. */
export const DISTRIBUTED_FAILURES: readonly LogFormat[] = [
  failureLine({
    id: 'torch.watchdog_timeout',
    title: 'NCCL watchdog: a collective timed out',
    producer: 'PyTorch',
    versions: '1.10 and later; `[PG … Rank n]` from 2.2',
    source: `${PG}, Watchdog`,
    anchors: ['Watchdog caught collective operation timeout'],
    kind: 'timeout',
    pattern: new RegExp(
      `${RANK}(?<text>Watchdog caught collective operation timeout(?:: WorkNCCL\\([^()\\n]{0,400}(?:\\([^()\\n]{0,40}\\)[^()\\n]{0,200}){0,4}\\))?(?: ran for \\d{1,12} milliseconds before timing out)?)`,
      'g',
    ),
  }),
  failureLine({
    id: 'torch.watchdog_end',
    title: 'NCCL watchdog: what it does after a failed collective',
    producer: 'PyTorch',
    versions: '1.12 and later',
    source: `${PG}, Watchdog::runLoop, WorkNCCL::handleException`,
    anchors: [
      'Some NCCL operations have failed or timed out',
      'taking the entire process down',
      'detected by watchdog at work',
      'watchdog thread terminated with exception',
      'Timeout at NCCL work',
      'NCCL work timed out',
    ],
    // The watchdog also ends with the error of a kernel, which is not a timeout.
    kind: ({ why }) => (why === undefined || why.trim() === '' || /time(?:d )?out/i.test(why) ? 'timeout' : 'other'),
    pattern: new RegExp(
      `${RANK}(?<text>Some NCCL operations have failed or timed out|To avoid data inconsistency, we are taking the entire process down|(?:Exception \\(either an error or timeout\\)|[Ff]ailure) detected by watchdog at work[^\\n]{0,160}|Process group watchdog thread terminated with exception(?<why>: [^\\n]{0,160})?|Timeout at NCCL work[^\\n]{0,160}|NCCL work timed out)`,
      'g',
    ),
  }),
  failureLine({
    id: 'torch.heartbeat_monitor',
    title: 'NCCL heartbeat monitor: the watchdog itself is stuck, or another rank dumps',
    producer: 'PyTorch',
    versions: '2.2 and later',
    source: `${PG}, HeartbeatMonitor::runLoop`,
    anchors: [
      'Heartbeat monitor timed out',
      'watchdog got stuck for',
      'due to a collective timeout',
      'flight recorder dump signal',
      'preparing to dump debug info',
    ],
    kind: 'timeout',
    pattern: new RegExp(
      `${RANK}(?<text>Heartbeat monitor timed out|ProcessGroupNCCL's watchdog got stuck for \\d{1,9} ?seconds|(?:Received a|Observed flight recorder) dump signal[^\\n]{0,160}|ProcessGroupNCCL preparing to dump debug info)`,
      'g',
    ),
  }),
  failureLine({
    id: 'torch.barrier_timeout',
    title: 'a rank did not come to a monitored barrier, or to the rendezvous',
    producer: 'PyTorch',
    versions: '1.8 and later',
    source: 'pytorch torch/csrc/distributed/c10d/ProcessGroupGloo.cpp monitoredBarrier; TCPStore.cpp',
    anchors: [
      'failed to pass monitoredBarrier',
      'seconds waiting for clients',
      'wait timeout after',
      'RendezvousTimeoutError',
    ],
    kind: 'timeout',
    pattern:
      /(?<text>(?:Rank (?<rank>\d{1,6}) )?failed to pass monitoredBarrier in \d{1,9} ms|Timed out after \d{1,9} seconds waiting for clients|wait timeout after \d{1,12} ?ms|RendezvousTimeoutError)/g,
  }),
  failureLine({
    id: 'net.connection_lost',
    title: 'a peer closed its connection: NCCL sockets, gloo, TCPStore, InfiniBand completions',
    producer: 'NCCL, PyTorch',
    versions: 'any',
    source:
      'nccl src/misc/socket.cc socketProgress, src/transport/net_ib.cc; gloo transport/tcp/pair.cc; pytorch TCPStore.cpp',
    anchors: [
      'Connection closed by remote peer',
      'Connection reset by peer',
      'Connection closed by peer',
      'Broken pipe',
      'remote process exited or there was a network error',
      'Got completion from peer',
      'Got completion with error',
      'failed to recv, got 0 bytes',
      'connection lost with remote',
    ],
    kind: 'connection_lost',
    pattern:
      /(?<text>(?:socketProgress(?:Opt)?: |socketTryAccept: |recvValue failed[^\n]{0,120}: |sendBytes failed[^\n]{0,120}: )?(?:Connection (?:closed by remote peer|reset by peer|closed by peer)(?: \[[^\]\n]{1,64}\](?::\d{1,6})?| [\w.-]{1,64}<\d{1,6}>)?|Broken pipe|remote process exited or there was a network error|NET\/IB ?: ?Got completion (?:from peer|with error)[^\n]{0,160}|failed to recv, got 0 bytes))/g,
  }),
  failureLine({
    id: 'net.address_in_use',
    title: 'a port was taken, or a service did not answer (Megatron Bridge counts both as flaky)',
    producer: 'PyTorch, ZeroMQ, Hugging Face Hub',
    versions: 'any',
    source:
      'pytorch torch/csrc/distributed/c10d/socket.cpp; Megatron Bridge scripts/performance/setup_experiment.py is_flaky_failure',
    anchors: [
      'server socket has failed to listen on any local network address',
      "We couldn't connect to 'https://",
      'ZMQError: Address already in use',
    ],
    kind: (groups) => ((groups['text'] ?? '').startsWith('We') ? 'connection_lost' : 'other'),
    pattern:
      /(?<text>The server socket has failed to listen on any local network address|We couldn't connect to 'https:\/\/[\w.]{1,64}'|zmq\.error\.ZMQError: Address already in use)/g,
  }),
];
