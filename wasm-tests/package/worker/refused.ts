import { type Files, freshWorker } from './fresh.ts';

const WORKER = freshWorker('js', 'toml');
const CONFIG = WORKER['wrangler.toml'] ?? '';
const bound = (name: string, more = '') =>
  `${CONFIG}\n[[durable_objects.bindings]]\nname = "MCP_BUS"\nclass_name = "${name}"\n${more}`;

/** Projects that the command refuses, and a part of what it says. */
export const REFUSED: [what: string, project: Files, message: string][] = [
  [
    'no configuration',
    { 'README.md': '' },
    'found no wrangler.json, wrangler.jsonc, wrangler.toml',
  ],
  ['no entry', { ...WORKER, 'wrangler.toml': 'name = "fresh"\n' }, 'has no main'],
  [
    'a missing entry',
    { ...WORKER, 'wrangler.toml': 'main = "worker.js"\n' },
    'worker.js as its entry, but there is no such file',
  ],
  [
    'an entry in Python',
    { ...WORKER, 'wrangler.toml': 'main = "w.py"\n', 'w.py': '' },
    'w.py is not a script',
  ],
  [
    'a service worker',
    { ...WORKER, 'src/index.js': "addEventListener('fetch', () => {});\n" },
    'has no default export',
  ],
  [
    'another class SubscriptionBus',
    { ...WORKER, 'src/index.js': `export class SubscriptionBus {}\n${WORKER['src/index.js']}` },
    'rename it',
  ],
  [
    'another binding MCP_BUS',
    { ...WORKER, 'wrangler.toml': bound('Other') },
    'MCP_BUS is taken by the class Other',
  ],
  [
    'another kind of binding MCP_BUS',
    {
      ...WORKER,
      'wrangler.toml': `${CONFIG}\n[[kv_namespaces]]\nbinding = "MCP_BUS"\nid = "1"\n`,
    },
    'taken by another binding',
  ],
  [
    'a class without SQLite',
    {
      ...WORKER,
      'wrangler.toml': bound(
        'SubscriptionBus',
        '[[migrations]]\ntag = "v1"\nnew_classes = ["SubscriptionBus"]\n',
      ),
    },
    'new_sqlite_classes',
  ],
  ['a Pages project', { ...WORKER, 'wrangler.toml': 'pages_build_output_dir = "out"\n' }, 'Pages'],
  [
    'a Worker that is not bundled',
    { ...WORKER, 'wrangler.toml': `no_bundle = true\n${CONFIG}` },
    'no_bundle',
  ],
  [
    'bindings on one line',
    { ...WORKER, 'wrangler.toml': `durable_objects = { bindings = [] }\n${CONFIG}` },
    'add this by hand:\n\n[[durable_objects.bindings]]',
  ],
  [
    'broken TOML',
    { ...WORKER, 'wrangler.toml': `${CONFIG}name =\n` },
    'wrangler.toml is not valid TOML: see line',
  ],
  [
    'broken JSON',
    { 'wrangler.json': '{\n"name": }' },
    'wrangler.json is not valid JSON: see line 2',
  ],
  [
    'no package.json',
    { 'wrangler.toml': CONFIG, 'src/index.js': WORKER['src/index.js'] ?? '' },
    'package.json, but there is no such file',
  ],
];
