import { describe, expect, it } from 'vitest';
import { loadData } from '../../src/knowledge/load-data.js';
import { findSecrets, hideSecrets, hideSettingValue, isSecretName, secretText } from '../../src/knowledge/secrets.js';
import { checkShape } from '../../src/text/check-shape.js';

interface Data {
  readonly names: Readonly<Record<string, readonly string[]>>;
  readonly shapes: readonly {
    readonly kind: string;
    readonly anchors: readonly string[];
    readonly pattern: string;
    readonly example: string;
  }[];
}
const { shapes } = loadData('secrets') as Data;

it('the data have their shape', () => {
  const list = [/[a-z0-9_]+/];
  expect(
    checkShape(loadData('secrets'), {
      names: {
        ...{ certain: list, probable: list, key_owners: list, text_tokens: list, not_before: list },
        ...{ qualifiers: list, sections: list, anchors: list, together: 'string' },
      },
      shapes: [
        {
          kind: 'string',
          anchors: ['string'],
          'also?': 'string',
          pattern: 'string',
          source: 'string',
          example: 'string',
        },
      ],
    }),
  ).toEqual([]);
});

describe('names', () => {
  it.each([
    ...['token', 'hub_token', 'huggingface_token', 'github_token', 'session_token', 'sas_token', 'bearer'],
    ...['mlflow_tracking_token', 'wandb_key', 'ngc_key', 'comet_key', 'account_key', 'encryption_key'],
    ...['aws_access_key_id', 'slack_webhook_url', 'logger.wandb_api_key', 'WANDB_API_KEY', 'HF_TOKEN', 'HFTOKEN'],
    ...['hubToken', 'accessKey', '--hf-token', 'push_to_hub_token', 'MLFLOW_TRACKING_PASSWORD', 'PGPASSWORD'],
    ...['DB_PASS', 'MYSQL_PWD', 'SECRET_KEY', 'AWS_SECRET_ACCESS_KEY', 'private_key', 'credentials', 'secrets.x'],
    ...['HF_TOKEN_PROD', 'WANDB_API_KEY_2', 'Authorization', 'x-api-key', 'use_auth_token', 'client_secret', 'jwt'],
    ...['NEPTUNE_API_TOKEN', 'CLEARML_API_SECRET_KEY', 'AccountKey', 'SharedAccessKey', 'sentry_dsn', 'S3_SECRET'],
  ])('%s is one of a secret', (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  it.each([
    ...['tokenizer_type', 'num_tokens', 'max_tokens', 'tokens_per_batch', 'pad_token_id', 'eos_token', 'bos_token'],
    ...['moe_token_dispatcher_type', 'token_drop_policy', 'key_value_heads', 'num_query_groups', 'kv_channels'],
    ...['use_key_padding_mask', 'seed_key', 'author', 'attention_dropout', 'moe_expert_capacity_factor', 'pass'],
    ...['pass_through', 'PASSTHROUGH', 'secretary', 'PWD', 'OLDPWD', 'SSH_AUTH_SOCK', 'HF_TOKEN_PATH', 'key', 'keys'],
    ...['text_key', 'input_key', 'calculate_per_token_loss', 'image_token', 'additional_special_tokens', 'authors'],
    ...['TOKENIZERS_PARALLELISM', 'api_key_env_var', 'secret_name', 'num_key_value_heads', 'signal', 'passes', ''],
    ...['monkey', 'keyboard', 'cache_key', 'primary_key', 'basic', 'session', 'tokenizer.eos_token', 'conn'],
  ])('%s is not', (name) => {
    expect(isSecretName(name)).toBe(false);
  });
});

describe('shapes', () => {
  it('are more than forty with the names', () => {
    const { certain, probable } = (loadData('secrets') as Data).names;
    expect(new Set(shapes.map(({ kind }) => kind)).size + certain!.length + probable!.length).toBeGreaterThan(80);
  });

  it.each(shapes.map(({ kind, example, pattern, anchors }) => [kind, example, pattern, anchors] as const))(
    '%s: %s',
    (_, example, pattern, anchors) => {
      expect(new RegExp(pattern).test(example)).toBe(true);
      const hasAnchor = anchors.some((anchor) => example.toLowerCase().includes(anchor.toLowerCase()));
      expect(hasAnchor || anchors.length === 0).toBe(true);
      for (const anchor of anchors) expect(anchor.length).toBeGreaterThan(2);
      const hidden = hideSecrets(example);
      expect(hidden).toMatch(/<secret: \d+ characters>/);
      expect(hideSecrets(hidden)).toBe(hidden);
    },
  );
});

/** The secret is between « and ». */
const TEXTS = [
  'oom_kill event in job step, WANDB_API_KEY=«x9»',
  'export HF_TOKEN=«abc1»',
  "export HF_TOKEN='«abc def»'",
  'HF_TOKEN="«abc»" python train.py',
  '    login(token="«secret-token-value»")',
  "wandb.login(key='«0123456789abcdef0123456789abcdef01234567»')",
  "    os.environ['WANDB_API_KEY'] = '«whatever»'",
  'os.environ["WANDB_API_KEY"]="«whatever»"',
  'os.environ.setdefault("HF_TOKEN", "«whatever»")',
  'def f(token: str = "«abcdefg»"):',
  'if password == "«hunter2»":',
  '{"token": "«abc123»", "lr": 1}',
  '{\\"token\\": \\"«abc123»\\"}',
  'token: «abc123»',
  'mpirun -x WANDB_API_KEY=«abc123» -np 8',
  'train.py --hf-token «abc123» --lr 1',
  'train.py --password=«hunter2» --lr 1',
  "['--hf-token', '«abc123»', '--lr']",
  '["train.py","--hub_token","«abc123»"]',
  'python\0--hf-token\0«abc123»\0--lr',
  '- name: WANDB_API_KEY\n  value: «abc123»',
  '{"name":"WANDB_API_KEY","value":"«abc123»"}',
  'sbatch --export=ALL,HF_TOKEN=«abc123»,NCCL_DEBUG=INFO run.sh',
  'curl -u user:«hunter2» https://host',
  'curl -sS -H "Authorization: Bearer «abcdefgh12»" https://host',
  'Authorization: Basic «dXNlcjpwdw==»',
  'x-api-key: «abc123def»',
  'https://user:«hun/ter2»@host/path',
  'https://user:«p@ss»@host/path',
  's3://KEY:«abc/def+g»@bucket/path',
  'LD_PRELOAD=https://u:«pw»@h',
  'Cookie: «session=abc; other=def»',
  'machine host login user password «hunter2»',
  'AccountName=x;AccountKey=«abc+def/ghi==»;EndpointSuffix=core',
  'grant_type=x&client_secret=«abc%2Fdef»&scope=y',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's
  '${HF_TOKEN:-«abc123»}',
  'ENV HF_TOKEN «abc123»',
  'setenv HF_TOKEN «abc123»',
  'redirect%3Faccess_token%3D«abc123»',
  'f(token="«abc # cut off',
  '-----BEGIN RSA PRIVATE KEY-----«\nMIIabc\ndef\n»-----END RSA PRIVATE KEY-----',
  '"private_key": "«-----BEGIN PRIVATE KEY-----\\nMIIabc\\n-----END PRIVATE KEY-----\\n»"',
  'sshpass -p «hunter2» ssh host',
] as const;

describe('in texts', () => {
  it.each(TEXTS.map((text) => [text] as const))('%j', (marked) => {
    const text = marked.replaceAll(/[«»]/g, '');
    const isOpen = !marked.includes('»');
    const start = marked.indexOf('«');
    const end = isOpen ? text.length : marked.indexOf('»') - 1;
    expect(findSecrets(text).map((span) => text.slice(span.start, span.end))).toEqual([text.slice(start, end)]);
    const hidden = hideSecrets(text);
    expect(hidden).toBe(text.slice(0, start) + secretText(end - start) + text.slice(end));
    expect(hideSecrets(hidden)).toBe(hidden);
  });

  it.each([
    'throughput 12345 tokens per second, token: 5',
    'tokens_per_batch=4096 max_tokens=10 eos_token=</s> pad_token: [PAD]',
    'Token indices sequence length is longer than the maximum',
    'ValueError: Unexpected token: end of file',
    'invalid token: unexpected',
    'KeyError: "foo" key=value key: value',
    'login(token=hf_token)',
    'wandb.login(key=os.environ["WANDB_API_KEY"])',
    'api_key=args.api_key, token=token, password=None',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's
    'export HF_TOKEN=$HF_TOKEN; export X_TOKEN="${Y_TOKEN}"; WANDB_API_KEY=$(cat key)',
    'PASSWORD=*** HF_TOKEN=<secret: 5 characters>',
    'commit 0123456789abcdef0123456789abcdef01234567 of wandb',
    'HF_TOKEN_PATH=/home/x/token SSH_AUTH_SOCK=/tmp/x PWD=/home/x/pwd',
    'http://host:8080/path?x=a@b git@github.com:owner/name.git ssh://git@github.com/x',
    'tcp://10.0.0.1:29500 https://host/a:b@c',
    'docker run -u 1000:1000 image; python -u train.py --x a:b',
    'sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
    '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
    'cub::DeviceRadixSortKernel<KeyT=int, key_t=float>(KeyT*)',
    'Permission denied (publickey,password).',
    'sk-learn task-based mask-filling-of-long-sequences',
    'AuthType=auth/munge CryptoType=crypto/munge',
  ])('nothing in %j', (text) => {
    expect(hideSecrets(text)).toBe(text);
  });

  it('a setting is hidden by its name, or has its secrets hidden', () => {
    expect(hideSettingValue('hub_token', 'abc')).toBe('<secret: 3 characters>');
    expect(hideSettingValue('hub_token', 'True')).toBe('True');
    expect(hideSettingValue('token', '5')).toBe('5');
    expect(hideSettingValue('data_path', 's3://K:abcdef@bucket')).toBe('s3://K:<secret: 6 characters>@bucket');
  });

  it('every text takes linear time', () => {
    const names =
      'token= token=" token=\' token=\\" x_token: tokentoken key token=$( _token :// hf_ eyJ sk- %token key=(';
    const hostile = [
      ...names.split(' '),
      ...['-token ', '://a:', 'eyJaaaaaaaa.', 'curl ', 'curl -u a', 'bearer ', 'Cookie: ', 'login(', 'login '],
      ...['-----BEGIN PRIVATE KEY-----', 'wandb login ', 'password\n', '\\', '"""', 'name: token,'],
    ];
    for (const piece of hostile) {
      const text = piece.repeat(Math.ceil(60_000 / piece.length));
      const begun = performance.now();
      findSecrets(text);
      // A quadratic one takes minutes; a linear one some milliseconds.
      expect(performance.now() - begun, piece).toBeLessThan(5000);
    }
  });
});
