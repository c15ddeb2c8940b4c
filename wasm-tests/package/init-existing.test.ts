import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run } from '../../scripts/process/command.mjs';
import { contents, useCommand } from './worker/command.ts';
import { type Files, freshWorker } from './worker/fresh.ts';

const { init, projectOf } = useCommand();

describe('the configuration keeps its layout and comments', () => {
  test.each([
    [
      'a comment behind the last member',
      `{
  /**
   * The list.
   */
  "main": "src/index.js", "name": "list",
  "vars": { "OWNER": "me" } // who owns the list
}
`,
      `{
  /**
   * The list.
   */
  "main": "src/index.js", "name": "list",
  "vars": { "OWNER": "me" }, // who owns the list
  "durable_objects": {
    "bindings": [
      {
        "name": "MCP_BUS",
        "class_name": "SubscriptionBus"
      }
    ]
  },
  "migrations": [
    {
      "tag": "mcp-listen",
      "new_sqlite_classes": [
        "SubscriptionBus"
      ]
    }
  ]
}
`,
    ],
    [
      'lists on one line, and commas at the end',
      `{
\t"main": "src/index.js",
\t"durable_objects": { "bindings": [{ "name": "A", "class_name": "A" } /* a */] },
\t"migrations": [
\t\t{ "tag": "v1", "new_sqlite_classes": ["A"] }, // the first, and
\t\t// the only one
\t],
}
`,
      `{
\t"main": "src/index.js",
\t"durable_objects": { "bindings": [{ "name": "A", "class_name": "A" } /* a */, \
{ "name": "MCP_BUS", "class_name": "SubscriptionBus" }] },
\t"migrations": [
\t\t{ "tag": "v1", "new_sqlite_classes": ["A"] }, // the first, and
\t\t{
\t\t\t"tag": "mcp-listen",
\t\t\t"new_sqlite_classes": [
\t\t\t\t"SubscriptionBus"
\t\t\t]
\t\t},
\t\t// the only one
\t],
}
`,
    ],
    [
      'empty lists, and line ends of Windows',
      '{\r\n  "main": "src/index.js",\r\n  "durable_objects": { "bindings": [] },\r\n' +
        '  "migrations": [\r\n    // none\r\n  ]\r\n}\r\n',
      '{\r\n  "main": "src/index.js",\r\n  "durable_objects": { "bindings": [\r\n    {\r\n' +
        '      "name": "MCP_BUS",\r\n      "class_name": "SubscriptionBus"\r\n    }\r\n  ] },\r\n' +
        '  "migrations": [\r\n    // none\r\n    {\r\n      "tag": "mcp-listen",\r\n' +
        '      "new_sqlite_classes": [\r\n        "SubscriptionBus"\r\n      ]\r\n    }\r\n' +
        '  ]\r\n}\r\n',
    ],
  ])('%s', async (_, before, after) => {
    const { 'wrangler.jsonc': _config, ...files } = freshWorker('js', 'jsonc');
    const folder = await projectOf({ ...files, 'wrangler.jsonc': before });
    await init(folder);
    expect((await contents(folder))['wrangler.jsonc']).toBe(after);
  });
});

describe('the command says how clients subscribe to resources', () => {
  const registered = "server.registerResource('list', 'todo://list', {}, read);\n";
  const subscribable = 'const options = { capabilities: { resources: { subscribe: true } } };\n';
  const announced = "await server.server.sendResourceUpdated({ uri: 'todo://list' });\n";

  test.each([
    ['a server of the SDK', '@modelcontextprotocol/server'],
    ['a server that is changed already', 'mcp-listen/sdk'],
  ])('%s, until the sources do both', async (_, module) => {
    const source = `import { createMcpHandler } from '${module}';\n${registered}`;
    const said = [
      'capabilities: { resources: { subscribe: true } }',
      'await server.server.sendResourceUpdated({ uri });',
      'docs/publish-changes.md',
    ];
    for (const files of [worker(source), elsewhere(source)]) {
      const folder = await projectOf(files);
      const [path = ''] = Object.keys(files).filter((name) => name.endsWith('mcp.js'));
      await init(folder);
      const second = await init(folder);
      expect(second).toContain('nothing to change');
      for (const text of said) expect(second).toContain(text);
      await writeFile(join(folder, path), source + subscribable);
      expect(await init(folder)).toContain('sendResourceUpdated');
      await writeFile(join(folder, path), source + subscribable + announced);
      expect(await init(folder)).not.toContain('sendResourceUpdated');
    }
  });

  test.each(["advertise: 'all'", '"advertise": "all"', '"subscribe": true'])(
    'a server with %s needs no other declaration',
    async (option) => {
      const source = "import { createMcpHandler } from 'mcp-listen/sdk';\n";
      const declared = `const options = { ${option} };\n`;
      const folder = await projectOf(worker(source + registered + declared + announced));
      expect(await init(folder)).not.toContain('sendResourceUpdated');
    },
  );

  test('a server without resources has nothing to declare', async () => {
    const source = "import { createMcpHandler } from 'mcp-listen/sdk';\n";
    expect(await init(await projectOf(worker(source)))).not.toContain('sendResourceUpdated');
  });

  function worker(source: string): Files {
    return { ...freshWorker('js', 'toml'), 'src/mcp.js': source };
  }

  function elsewhere(source: string): Files {
    return { 'package.json': '{ "type": "module" }', 'mcp.js': source };
  }
});

test('a Worker in TypeScript typechecks after what the command says about types', async () => {
  const folder = await projectOf({
    ...freshWorker('ts', 'jsonc'),
    'src/index.ts': `import { env } from 'cloudflare:workers';
import { createListenHandler } from 'mcp-listen';
import { durableObjectBus } from 'mcp-listen/cloudflare';

const mcp = () => new Response(null, { status: 404 });
const server = createListenHandler(mcp, { bus: durableObjectBus(env.MCP_BUS) });
export default { fetch: (request: Request) => server.fetch(request) };
`,
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        target: 'es2024',
        lib: ['es2024'],
        types: [],
        module: 'esnext',
        moduleResolution: 'bundler',
        strict: true,
        skipLibCheck: true,
        noEmit: true,
      },
      include: ['src', 'worker-configuration.d.ts'],
    }),
  });
  expect(await init(folder)).toContain('npx wrangler types declares env.MCP_BUS');
  await expect(run('tsc', [], { cwd: folder })).rejects.toThrow("'cloudflare:workers'");
  await run('wrangler', ['types'], { cwd: folder });
  await run('tsc', [], { cwd: folder });
  expect(await init(folder)).not.toContain('wrangler types');
});
