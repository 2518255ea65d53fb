import type { IncidentKind } from '../../../src/model/vocabulary.js';
import type { Groups, LogFormat } from '../formats/contract.js';
import { failureLine, failureOf, kindOfExit } from './failure-line.js';

const ELASTIC = 'pytorch torch/distributed/elastic/multiprocessing/api.py, agent/server/api.py';

/** The launcher itself got the signal: from a user or a scheduler, or because a task on another node ended. */
const FROM_OUTSIDE =
  /Main process received|death signal|got signal: (?:2|15)\b|after receiving SIGTERM|return code = -(?:2|15)\b/;

function kindOfSignal({ text = '', exitcode }: Groups): IncidentKind {
  return FROM_OUTSIDE.test(text) ? 'cancelled' : kindOfExit(exitcode);
}

/** Messages of launchers when they end their processes, or find them ended: consequences, whatever cause they name. */
export const LAUNCHER_FAILURES: readonly LogFormat[] = [
  failureLine({
    id: 'torchrun.worker_failed',
    title: 'torchrun found a worker ended',
    producer: 'PyTorch',
    versions: '1.9 and later',
    source: `${ELASTIC}, PContext.wait`,
    anchors: ['failed (exitcode: '],
    kind: (groups) => kindOfExit(groups['exitcode']),
    pattern:
      /(?<text>failed \(exitcode: (?<exitcode>-?\d{1,10})\) local_rank: (?<local>\d{1,4}) \(pid: (?<pid>\d{1,10})\)(?: of (?:binary|fn): [^\n]{1,200})?)/g,
  }),
  {
    form: 'line',
    id: 'launcher.sigterm',
    title: 'a launcher ends its processes, or receives a signal to end',
    producer: 'PyTorch, DeepSpeed, Megatron-LM',
    versions: 'torch.distributed.launch 1.8, DeepSpeed, torchrun',
    // The command in front of `exits with return code` is that of the last process started, not of the one that failed.
    source:
      'pytorch torch/distributed/launch.py sigkill_handler; deepspeed launcher/launch.py; torch/distributed/elastic',
    anchors: [
      'Killing subprocess',
      'Main process received SIGTERM',
      'closing signal SIG',
      'death signal, shutting down',
      'got signal: ',
      'Received Signals.SIG',
      'exits with return code',
      'after receiving SIGTERM',
    ],
    fields: {
      text: 'the message',
      killed: 'process that is killed',
      sent: 'process a signal is sent to',
      signalled: 'process that got a signal',
      exitcode: 'return code of the launched program',
    },
    pattern:
      /(?<text>Killing subprocess (?<killed>\d{1,10})|Main process received SIGTERM, exiting|Sending process (?<sent>\d{1,10}) closing signal SIG\w{1,8}|Received Signals\.SIG\w{1,8} death signal, shutting down workers|Received (?:\d{1,2}|SIG\w{1,8}) death signal, shutting down workers|Process (?<signalled>\d{1,10}) got signal: \d{1,2}|exiting program after receiving SIGTERM|exits with return code = (?<exitcode>-?\d{1,4}))/g,
    read(groups, emit) {
      const { killed, sent, signalled } = groups;
      emit(
        failureOf(kindOfSignal(groups), {
          text: groups['text'],
          pid: killed ?? sent ?? signalled,
          exitcode: groups['exitcode'],
        }),
      );
      // A cascade is one incident; these lines give the number of processes it ended.
      if (killed !== undefined) {
        emit({ row: 'value', name: 'launcher.killed_subprocess', value: Number(killed), unit: 'pid' });
      } else if (groups['text']?.startsWith('Main process') === true) {
        emit({ row: 'value', name: 'launcher.sigterm', value: 1, unit: 'count' });
      }
    },
  },
  failureLine({
    id: 'launcher.command_died',
    title: 'a launched command ended with an error or a signal',
    producer: 'Python subprocess',
    versions: 'torch.distributed.launch, pdsh, accelerate',
    source: 'cpython Lib/subprocess.py CalledProcessError',
    anchors: ['died with <Signals.', 'returned non-zero exit status', 'ssh exited with exit code'],
    kind: ({ text = '', exitcode }) => (text.includes('SIGKILL') ? 'killed' : kindOfExit(exitcode)),
    pattern:
      /(?<text>(?:died with <Signals\.SIG\w{1,8}: \d{1,2}>|returned non-zero exit status (?<exitcode>\d{1,3})|(?<![\w.-])(?<host>[\w.-]{1,64}): ssh exited with exit code \d{1,3}))/g,
  }),
  failureLine({
    id: 'mpi.rank_ended',
    title: 'mpirun found a rank ended',
    producer: 'Open MPI',
    versions: 'any',
    source: 'openmpi orte/tools/orterun/help-orterun.txt',
    anchors: ['mpirun noticed that process rank', 'MPI_ABORT was invoked on rank'],
    kind: 'other',
    pattern:
      /(?<text>(?:mpirun noticed that process|MPI_ABORT was invoked on) rank (?<rank>\d{1,6})(?: with PID (?:0|(?<pid>[1-9]\d{0,9})) on node (?<host>[\w.-]{1,64}) exited on signal \d{1,2}(?: \([\w ]{1,40}\))?)?)/g,
  }),
  failureLine({
    id: 'ray.worker_died',
    title: 'Ray found a worker ended, and guesses why',
    producer: 'Ray',
    versions: '2.0 and later',
    source: 'ray python/ray/exceptions.py ActorDiedError; src/ray/core_worker and src/ray/raylet/node_manager.cc',
    anchors: ['Worker exit type: ', 'Worker unexpectedly exits with a connection error'],
    // It names the host's memory among the causes whatever happened: a consequence, no evidence of it.
    kind: (groups) => (groups['text']?.includes('INTENDED_USER_EXIT') === true ? null : 'other'),
    pattern:
      /(?:Worker IP address: (?<host>[\da-f.:]{2,45}) Worker port: \d{1,5} Worker PID: (?<pid>\d{1,10}) )?(?<text>Worker exit type: [A-Z_]{4,40}(?: Worker exit detail: [^\n]{1,160}?(?:\.|$))?|(?<!detail: )Worker unexpectedly exits with a connection error code \d{1,3})/g,
  }),
  failureLine({
    id: 'ray.memory_low',
    title: 'the memory monitor of a node kills the newest task',
    producer: 'Ray',
    versions: '2.0 to 2.1; later ones count the killed workers, a wording of the grammar',
    source: 'ray src/ray/raylet/node_manager.cc, CreateMemoryUsageRefreshCallback',
    anchors: ['System memory low at node with IP '],
    kind: 'host_oom',
    pattern:
      /(?<text>System memory low at node with IP (?<host>[\da-f.:]{2,45}?)\. Used memory \([\d.]{1,16}GB\) \/ total capacity \([\d.]{1,16}GB\)[^\n]{0,80}? exceeds threshold [\d.]{1,12}, killing latest task)/g,
  }),
  {
    form: 'line',
    id: 'torchelastic.launch',
    title: 'torchelastic starts its workers, the first time or again',
    producer: 'PyTorch',
    versions: '1.9 and later',
    source: `${ELASTIC}, SimpleElasticAgent._invoke_run, _rendezvous`,
    anchors: ['Starting worker group', 'restart_count=', 'will restart worker group'],
    fields: {
      starting: 'workers are started',
      count: 'restarts so far',
      state: 'state of the group before a restart',
      left: 'attempts left',
      all: 'attempts allowed',
    },
    pattern:
      /(?<starting>Starting worker group)|restart_count=(?<count>\d{1,6})|Worker group (?<state>[A-Z]{1,16})\. (?<left>\d{1,6})\/(?<all>\d{1,6}) attempts left; will restart worker group/g,
    read({ starting, count, state, left }, emit) {
      if (count !== undefined) {
        emit({ row: 'value', name: 'elastic.restart_count', value: Number(count), unit: 'count' });
        if (count !== '0') emit({ row: 'launch', label: `torchelastic restart ${count}` });
      } else if (starting !== undefined) emit({ row: 'launch', label: 'torchelastic starts its workers' });
      else emit({ row: 'launch', label: `torchelastic restarts a group that ${state} (${left} attempts left)` });
    },
  },
  {
    form: 'line',
    id: 'bridge.launch_attempt',
    title: 'the performance launcher tries again after a failure it takes for flaky',
    producer: 'Megatron Bridge',
    versions: '0.2 and later',
    source: 'Megatron Bridge scripts/performance/setup_experiment.py main; Megatron-LM tests/test_utils launchers',
    anchors: ['Starting attempt '],
    fields: { attempt: 'number of this attempt', all: 'attempts allowed' },
    pattern: /Starting attempt (?<attempt>\d{1,4}) of (?<all>\d{1,4})/g,
    read({ attempt, all }, emit) {
      emit({ row: 'launch', label: `attempt ${attempt} of ${all}` });
    },
  },
];
