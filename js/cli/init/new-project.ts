import { dependencies, devDependencies, template, wranglerNode } from '../built-in.js';
import type { Change } from './change.js';

/** Returns the files of a small Worker with the bus, named after the folder. */
export function newProject(folder: string): Change[] {
  const name =
    folder
      .toLowerCase()
      .replace(/[^a-z0-9-]+/g, '-')
      .replace(/^-+|-+$/g, '') || 'mcp-server';
  const manifest = {
    name,
    private: true,
    type: 'module',
    engines: { node: `>=${wranglerNode}` },
    scripts: { start: 'wrangler dev', deploy: 'wrangler deploy', check: 'tsc' },
    dependencies,
    devDependencies,
  };
  const files = {
    ...template,
    'wrangler.toml': (template['wrangler.toml'] ?? '').replace(/^name = .*$/m, `name = "${name}"`),
    'package.json': `${JSON.stringify(manifest, undefined, 2)}\n`,
    'tsconfig.json': `${JSON.stringify(TSCONFIG, undefined, 2)}\n`,
    '.gitignore': 'node_modules/\n.wrangler/\n',
  };
  return Object.entries(files).map(([path, after]) => ({ path, before: undefined, after }));
}

const TSCONFIG = {
  compilerOptions: {
    target: 'es2024',
    lib: ['ES2024'],
    module: 'nodenext',
    types: ['@cloudflare/workers-types'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
  },
  include: ['*.ts'],
};
