/**
 * Events, pods and descriptions of Kubernetes: who ended the containers of a run, and what they were allowed to take.
 */
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { kubernetesEvents } from '../../parsers/kubernetes-events/index.js';
import type { EnvFinding } from '../../src/model/log-rows.js';
import { type Collected, claimed, collectRows, shortValues } from '../support/collect-rows.js';

const GIB = 1024 ** 3;
const read = (content: string, options = {}): Promise<Collected> => collectRows(kubernetesEvents, content, options);
const incidents = ({ incidents }: Collected) => incidents.map(({ kind, grammar, host }) => [kind, grammar, host]);
const noteKinds = ({ notes }: Collected): string[] => notes.map(({ kind }) => kind).sort();
const envs = ({ others }: Collected): string[] =>
  others.map((row) => `${(row as EnvFinding).key}=${(row as EnvFinding).value}`);

const event = (reason: string, message: string, more: object = {}) => ({
  apiVersion: 'v1',
  count: 1,
  firstTimestamp: '2026-11-20T10:11:12Z',
  involvedObject: { apiVersion: 'v1', kind: 'Pod', name: 'trainer-0', namespace: 'default' },
  kind: 'Event',
  lastTimestamp: '2026-11-20T10:20:00Z',
  message,
  metadata: { name: 'trainer-0.17', namespace: 'default' },
  reason,
  source: { component: 'kubelet', host: 'node-7' },
  type: 'Warning',
  ...more,
});
const onNode = {
  involvedObject: { kind: 'Node', name: 'node-7' },
  source: { component: 'kernel-monitor', host: 'node-7' },
};
const list = (items: unknown[]) => ({ apiVersion: 'v1', items, kind: 'List', metadata: { resourceVersion: '' } });

const EVENTS = [
  event('Pulled', 'Container image "x" already present on machine', { type: 'Normal' }),
  event('SystemOOM', 'System OOM encountered, victim process: python3, pid: 4711', onNode),
  event(
    'OOMKilling',
    'Memory cgroup out of memory: Killed process 4712 (python3) total-vm:1kB, anon-rss:1kB, file-rss:0kB',
    onNode,
  ),
  event(
    'Evicted',
    'The node was low on resource: memory. Container trainer was using 1924152Ki, which exceeds its request of 0.',
  ),
  event('Evicted', 'The node was low on resource: ephemeral-storage.'),
  event('Evicted', 'Usage of EmptyDir volume "dshm" exceeds the limit "64Gi". '),
  event('NodeNotReady', 'Node is not ready', { source: { component: 'node-controller' } }),
  event('GPUXid', 'NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.', onNode),
  event('GPUXid', 'NVRM: Xid (PCI:0000:3b:00): 31, pid=1, MMU Fault', onNode),
  event('Preempted', 'Preempted by default/x on node node-7'),
  event('FailedScheduling', '0/9 nodes are available: 9 Insufficient nvidia.com/gpu.', { count: 12 }),
  event('BackOff', 'Back-off restarting failed container'),
];
const EXPECTED = [
  ['host_oom', 'kubernetes.oom-event', 'node-7'],
  ['host_oom', 'kubernetes.oom-event', 'node-7'],
  ['host_oom', 'kubernetes.evicted', 'node-7'],
  ['other', 'kubernetes.evicted', 'node-7'],
  ['shm_oom', 'kubernetes.evicted-shm', 'node-7'],
  ['hardware', 'kubernetes.node', null],
  ['hardware', 'kubernetes.xid', 'node-7'],
  ['other', 'kubernetes.xid', 'node-7'],
  ['preempted', 'kubernetes.preempted', 'node-7'],
];

const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'trainer-0',
    annotations: {
      'kubectl.kubernetes.io/last-applied-configuration': '{"env":[{"name":"WANDB_API_KEY","value":"geheim"}]}',
    },
  },
  spec: {
    nodeName: 'node-7',
    containers: [
      {
        name: 'trainer',
        env: [
          { name: 'PYTORCH_CUDA_ALLOC_CONF', value: 'expandable_segments:True' },
          { name: 'NCCL_DEBUG', valueFrom: { configMapKeyRef: { name: 'x', key: 'y' } } },
          { name: 'WANDB_API_KEY', value: 'geheim' },
          { name: 'MY_OWN', value: 'geheim' },
        ],
        resources: { limits: { cpu: '8', memory: '512Gi', 'nvidia.com/gpu': '8' }, requests: { memory: '1Gi' } },
      },
      { name: 'sidecar', resources: { limits: { memory: '128e6' } } },
    ],
    volumes: [
      { name: 'dshm', emptyDir: { medium: 'Memory', sizeLimit: '64Gi' } },
      { name: 'scratch', emptyDir: { sizeLimit: '64Gi' } },
    ],
  },
  status: {
    phase: 'Running',
    startTime: '2026-11-20T10:00:00Z',
    containerStatuses: [
      {
        name: 'trainer',
        restartCount: 2,
        lastState: {
          terminated: {
            exitCode: 137,
            reason: 'OOMKilled',
            startedAt: '2026-11-20T10:00:05Z',
            finishedAt: '2026-11-20T10:11:12Z',
          },
        },
        state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s' } },
      },
      {
        name: 'sidecar',
        restartCount: 0,
        state: { terminated: { exitCode: 137, reason: 'Error', finishedAt: '2026-11-20T10:11:13Z' } },
      },
    ],
  },
};

describe('kubectl get events', () => {
  it('reads JSON, one incident an event that is a failure', async () => {
    const text = JSON.stringify(list(EVENTS), null, 4);
    const all = await read(text);
    expect(incidents(all)).toEqual(EXPECTED);
    expect(all.incidents.slice(0, 2).map(({ pid }) => pid)).toEqual([4711, 4712]);
    const first = all.incidents[0]!;
    expect(first).toMatchObject({
      timeText: '2026-11-20T10:11:12Z',
      timeUs: Date.UTC(2026, 10, 20, 10, 11, 12) * 1000,
      text: 'SystemOOM node/node-7: System OOM encountered, victim process: python3, pid: 4711',
    });
    expect(text.slice(first.offset).startsWith('{')).toBe(true);
    expect(first.line).toBe(text.slice(0, first.offset).split('\n').length);
    expect(all.summary?.clock).toBe('utc');
    expect(shortValues(all)).toEqual([
      '- kubernetes.failed_scheduling FailedScheduling pod/trainer-0: 0/9 nodes are available: 9 Insufficient nvidia.com/gpu. (x12)',
    ]);
    expect(claimed(text, 'events.json')).toBe('kubernetes-events');
    for (const chunkBytes of [1, 97]) expect(await read(text, { chunkBytes })).toEqual(all);
  });

  it('reads YAML to the same incidents, whatever the indentation of its list', async () => {
    for (const options of [{ indentSeq: false }, { indentSeq: true }]) {
      const text = stringify(list(EVENTS), { lineWidth: 0, aliasDuplicateObjects: false, ...options });
      const all = await read(text);
      expect(incidents(all)).toEqual(EXPECTED);
      expect(all.incidents[0]!.line).toBe(text.slice(0, all.incidents[0]!.offset).split('\n').length);
      expect(text.slice(all.incidents[0]!.offset).trimStart()).toMatch(/^- apiVersion/);
      expect(all.notes).toEqual([]);
      expect(claimed(text, 'events.yaml')).toBe('kubernetes-events');
    }
  });

  it('reads single events one behind the other, and those of events.k8s.io', async () => {
    const modern = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      eventTime: '2026-11-20T10:11:12.123456Z',
      note: 'System OOM encountered, victim process: python3, pid: 4711',
      reason: 'SystemOOM',
      regarding: { kind: 'Node', name: 'node-8' },
      reportingController: 'kubelet',
    };
    const text = `${JSON.stringify(event('Evicted', 'The node was low on resource: memory.'))}\n${JSON.stringify(modern)}\n`;
    const all = await read(text);
    expect(incidents(all)).toEqual([
      ['host_oom', 'kubernetes.evicted', 'node-7'],
      ['host_oom', 'kubernetes.oom-event', 'node-8'],
    ]);
    expect(all.incidents[1]!.timeUs).toBe(Date.UTC(2026, 10, 20, 10, 11, 12) * 1000 + 123_456);
    const documents = await read(
      `---\n${stringify(event('Evicted', 'The node was low on resource: memory.'))}---\n${stringify(modern)}`,
    );
    expect(incidents(documents)).toEqual(incidents(all));
  });

  it('reads the table, also across namespaces; ages are not used as times', async () => {
    const table = `NAMESPACE     LAST SEEN            TYPE      REASON             OBJECT                MESSAGE
default       53m                  Warning   SystemOOM          node/nlk8s-node04     System OOM encountered, victim process: grafana, pid: 1568701
default       2m3s (x5 over 10m)   Warning   Evicted            pod/trainer-0         The node was low on resource: memory.  Container x
default       <unknown>            Normal    Scheduled          pod/trainer-0         Successfully assigned
${'default       5m                   Normal    Pulled             pod/trainer-0         Pulled\n'.repeat(8)}garbage
`;
    const all = await read(table);
    expect(incidents(all)).toEqual([
      ['host_oom', 'kubernetes.oom-event', 'nlk8s-node04'],
      ['host_oom', 'kubernetes.evicted', null],
    ]);
    expect(all.incidents.map(({ timeUs, line }) => [timeUs, line])).toEqual([
      [null, 2],
      [null, 3],
    ]);
    expect(all.incidents[1]!.text).toContain('(x5)');
    expect(noteKinds(all)).toEqual(['kubernetes_ages', 'kubernetes_foreign']);
    expect(claimed(table.replace('garbage\n', ''), 'events.txt')).toBe('kubernetes-events');
  });
});

describe('kubectl get pod', () => {
  const check = (all: Collected): void => {
    expect(incidents(all)).toEqual([
      ['host_oom', 'kubernetes.terminated', 'node-7'],
      ['other', 'kubernetes.terminated', 'node-7'],
    ]);
    expect(all.incidents[0]).toMatchObject({
      exitCode: 137,
      timeUs: Date.UTC(2026, 10, 20, 10, 11, 12) * 1000,
      text: 'container trainer-0/trainer terminated: OOMKilled, exit code 137',
    });
    expect(all.gauges.map(({ metric, bytes, process, place }) => [metric, bytes, process, place.host])).toEqual([
      ['host_limit', 512 * GIB, 'trainer-0/trainer', 'node-7'],
      ['host_limit', 128_000_000, 'trainer-0/sidecar', 'node-7'],
    ]);
    expect(shortValues(all)).toEqual([
      '- kubernetes.devices[container=trainer-0/trainer,resource=nvidia.com/gpu] 8 count',
      `- kubernetes.memory_volume[pod=trainer-0,volume=dshm] ${64 * GIB} bytes`,
      '- kubernetes.restarts[container=trainer-0/trainer] 2 count',
    ]);
    expect(envs(all)).toEqual(['PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True']);
    expect(JSON.stringify(all)).not.toContain('geheim');
  };

  it('reads JSON, YAML and lists of them, and no secret', async () => {
    for (const text of [
      JSON.stringify(POD, null, 4),
      JSON.stringify(list([POD])),
      stringify(POD),
      stringify(list([POD]), { indentSeq: false }),
    ]) {
      check(await read(text));
      expect(claimed(text, text.startsWith('{') ? 'pod.json' : 'pod.yaml')).toBe('kubernetes-events');
    }
  });

  it('reports why a whole pod failed, and a container that never ran', async () => {
    const evicted = {
      ...POD,
      status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
    };
    expect(incidents(await read(JSON.stringify(evicted)))).toEqual([['host_oom', 'kubernetes.pod-failed', 'node-7']]);
    const status = {
      containerStatuses: [{ name: 'x', state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } }],
    };
    expect(incidents(await read(JSON.stringify({ ...POD, status })))).toEqual([
      ['config_error', 'kubernetes.waiting', 'node-7'],
    ]);
  });
});

const DESCRIBE = `Name:             trainer-0
Namespace:        default
Node:             node-7/10.0.0.1
Start Time:       Mon, 20 Nov 2023 10:00:00 +0100
Labels:           app=trainer
                  pod-template-hash=66d86947f4
Status:           Failed
Reason:           Evicted
Message:          The node was low on resource: memory.
IP:               10.244.0.14
Containers:
  trainer:
    Container ID:  containerd://567f505a
    Command:
      python
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Mon, 20 Nov 2023 10:00:05 +0100
      Finished:     Mon, 20 Nov 2023 10:11:12 +0100
    Ready:          False
    Restart Count:  2
    Limits:
      cpu:             8
      memory:          512Gi
      nvidia.com/gpu:  8
    Requests:
      memory:  1Gi
    Environment:
      PYTORCH_CUDA_ALLOC_CONF:  expandable_segments:True
      NCCL_DEBUG:               <set to the key 'x' in secret 'y'>  Optional: false
      HF_TOKEN:                 geheim
    Mounts:
      /dev/shm from dshm (rw)
  sidecar:
    State:          Terminated
      Reason:       Error
      Exit Code:    1
      Started:      Mon, 20 Nov 2023 10:00:05 +0100
      Finished:     Mon, 20 Nov 2023 10:11:13 +0100
Conditions:
  Type              Status
  Ready             False
Volumes:
  dshm:
    Type:       EmptyDir (a temporary directory that shares a pod's lifetime)
    Medium:     Memory
    SizeLimit:  64Gi
  kube-api-access:
    Type:                    Projected (a volume that contains injected data from multiple sources)
QoS Class:                   Burstable
Events:
  Type     Reason     Age                   From               Message
  ----     ------     ----                  ----               -------
  Normal   Scheduled  42s                   default-scheduler  Successfully assigned default/trainer-0 to node-7
  Warning  Evicted    4m58s (x8 over 9m)    kubelet            The node was low on resource: memory.
`;

describe('kubectl describe', () => {
  it('reads a pod with its containers, volumes and events', async () => {
    const all = await read(DESCRIBE);
    expect(incidents(all)).toEqual([
      ['host_oom', 'kubernetes.terminated', 'node-7'],
      ['other', 'kubernetes.terminated', 'node-7'],
      ['host_oom', 'kubernetes.evicted', 'node-7'],
      ['host_oom', 'kubernetes.pod-failed', 'node-7'],
    ]);
    expect(all.incidents[0]).toMatchObject({
      exitCode: 137,
      line: DESCRIBE.slice(0, DESCRIBE.indexOf('    Last State')).split('\n').length,
      offset: DESCRIBE.indexOf('    Last State'),
      timeUs: Date.UTC(2023, 10, 20, 9, 11, 12) * 1000,
    });
    expect(all.gauges.map(({ bytes, process }) => [bytes, process])).toEqual([[512 * GIB, 'trainer-0/trainer']]);
    expect(shortValues(all)).toEqual([
      '- kubernetes.restarts[container=trainer-0/trainer] 2 count',
      '- kubernetes.devices[container=trainer-0/trainer,resource=nvidia.com/gpu] 8 count',
      `- kubernetes.memory_volume[pod=trainer-0,volume=dshm] ${64 * GIB} bytes`,
    ]);
    expect(envs(all)).toEqual(['PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True']);
    expect(JSON.stringify(all)).not.toContain('geheim');
    expect(claimed(DESCRIBE, 'describe.txt')).toBe('kubernetes-events');
  });

  it('reads several pods, and nodes', async () => {
    const node = `Name:               node-9
Roles:              <none>
Conditions:
  Type             Status
Events:
  Type     Reason     Age    From     Message
  ----     ------     ----   ----     -------
  Warning  SystemOOM  5m24s  kubelet  System OOM encountered, victim process: python3, pid: 11415
`;
    const all = await read(`${DESCRIBE}\n\n${node}`);
    expect(incidents(all).at(-1)).toEqual(['host_oom', 'kubernetes.oom-event', 'node-9']);
    expect(all.incidents).toHaveLength(5);
    expect(claimed(node, 'node.txt')).toBe('kubernetes-events');
  });
});

describe('damage', () => {
  it('keeps the events before a cut and reports its place', async () => {
    const text = JSON.stringify(list(EVENTS));
    const cut = text.slice(0, text.indexOf('GPUXid'));
    const all = await read(cut);
    expect(all.incidents).toHaveLength(6);
    expect(all.notes).toMatchObject([
      { kind: 'kubernetes_damaged', severity: 'warning', offset: cut.lastIndexOf('{"apiVersion":"v1","count"') },
    ]);
  });

  it('leaves out an object that is not YAML and keeps the others', async () => {
    const text = stringify(list(EVENTS), {
      indentSeq: false,
      lineWidth: 0,
      aliasDuplicateObjects: false,
    }).replace('reason: SystemOOM', 'reason: "SystemOOM');
    const all = await read(text);
    expect(incidents(all)).toEqual(EXPECTED.slice(1));
    expect(all.notes).toMatchObject([{ kind: 'kubernetes_damaged', count: 1 }]);
  });

  it('refuses what holds nothing', async () => {
    expect((await read('{"apiVersion": "v1", "kind": "Event", "involvedObject": {')).refused).toBe('MBF2951');
    expect((await read('x')).refused).toBe('MBF2951');
  });
});

describe('what is none', () => {
  it.each([
    [
      'a configuration',
      'model:\n  tensor_model_parallel_size: 8\n  num_layers: 4\n  hidden_size: 5\n',
      'x.yaml',
      'config',
    ],
    [
      'a deployment with a template of a pod',
      'apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers: []\n',
      'x.yaml',
      null,
    ],
    ['a config map', 'apiVersion: v1\nkind: ConfigMap\ndata: {}\n', 'x.yaml', null],
    [
      'a log that quotes a table',
      `step 1\nLAST SEEN   TYPE      REASON   OBJECT   MESSAGE\n${'iteration 1/ 10 | consumed samples: 1 |\n'.repeat(9)}`,
      'x.log',
      'log',
    ],
    [
      'a log that begins with a table',
      `LAST SEEN   TYPE      REASON   OBJECT   MESSAGE\n${'iteration 1/ 10 | consumed samples: 1 |\n'.repeat(9)}`,
      'x.log',
      'log',
    ],
    ['a text with a name', 'Name:   x\nNamespace:   y\n', 'x.log', 'log'],
    ['JSON with a kind', '{"apiVersion": "v1", "kind": "Service"}', 'x.json', null],
  ])('%s', (_, content, name, owner) => {
    expect(claimed(content, name)).toBe(owner);
  });
});

describe('hostile input', () => {
  it('ends in rows, notes or one error', async () => {
    const bomb = `a: &a [x,x,x,x]\n${Array.from({ length: 9 }, (_, i) => `${'bcdefghij'[i]}: &${'bcdefghij'[i]} [*${'abcdefghi'[i]},*${'abcdefghi'[i]}]`).join('\n')}\n`;
    for (const text of [
      `apiVersion: v1\nkind: Pod\n${bomb}`,
      `apiVersion: v1\nkind: Pod\nspec: ${'['.repeat(200_000)}\n`,
      `apiVersion: v1\nkind: Pod\nspec: ${'x'.repeat(3_000_000)}\n`,
      `apiVersion: v1\nkind: Pod\n${Array.from({ length: 700 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')}\n`,
      `{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": ${'['.repeat(100_000)}`,
      '{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [1, null, {"name": 5, "env": [7, {"name": 1, "value": 2}], "resources": {"limits": {"memory": {}}}}], "volumes": "x"}, "status": {"containerStatuses": [{"state": {"terminated": 5}, "lastState": [], "restartCount": -1}]}}',
      '{"apiVersion": "v1", "kind": "Event", "involvedObject": null, "reason": 5, "message": [], "count": "x"}',
      '{"apiVersion": "v1", "items": [{"kind": "Event", "involvedObject": {}, "__proto__": {"reason": "SystemOOM"}}, 1, "x", [[]]]}',
      `LAST SEEN   TYPE      REASON   OBJECT   MESSAGE\n${'5m   Warning   Evicted   pod/x   '.repeat(1)}${'memory '.repeat(500_000)}\n`,
      `${DESCRIBE}${' '.repeat(200_000)}\n${'  Warning  '.repeat(50_000)}\n`,
    ]) {
      const all = await read(text);
      expect(all.refused ?? 'MBF2951').toBe('MBF2951');
      expect(all.incidents.every(({ text }) => text.length < 2100)).toBe(true);
    }
  });

  it('every prefix of every form is read or refused', async () => {
    for (const form of [JSON.stringify(list([POD, ...EVENTS])), stringify(list([POD])), DESCRIBE]) {
      for (let length = 1; length < form.length; length += 41) await read(form.slice(0, length));
    }
  });
});
