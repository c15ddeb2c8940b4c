import type { FoundServer, ServerKind, Sources } from './sources.js';

/**
 * Returns what to change by hand in a Worker, for each place that serves MCP in its sources.
 * `binding` is the name of the binding of the bus; `lacksType` says whether no file declares it.
 */
export function workerAdvice(sources: Sources, binding: string, lacksType: boolean): string[] {
  const { found, isWired } = sources;
  const parts = withoutTwins(found).map((place) => `${at(place)}\n\n${BY_KIND[place.kind]}`);
  const plain = isWired ? [] : [PLAIN];
  const places = parts.length === 0 ? plain : [FIRST, ...parts];
  const advice = [...places, ...updates(sources), ...(lacksType ? [TYPES] : []), TRY];
  return advice.map((text) => `${text.replaceAll('MCP_BUS', binding)}\n`);
}

/** Returns what to do next with a new Worker. */
export function newWorkerAdvice(): string[] {
  return [`Next: npm install, then npm start. ${ENDPOINT}`];
}

/** Returns what to do next with a server on another host. */
export function serverAdvice(sources: Sources): string[] {
  const places = sources.found.flatMap((place) => {
    const change = ELSEWHERE[place.kind];
    return change === undefined ? [] : [`${at(place)}\n\n${change.trimEnd()}\n`];
  });
  const silent = updates(sources).map((text) => `${text}\n`);
  if (places.length > 0) return [...places, ...silent];
  return [...(sources.isWired ? [] : [SHARED]), ...silent, TRY_ELSEWHERE];
}

/** Returns how the servers that this package serves let clients subscribe to their resources. */
function updates({ found, isSilent, isWired }: Sources): string[] {
  const isServed = isWired || found.some(({ kind }) => kind !== 'sdk-1');
  return isServed && isSilent ? [UPDATES] : [];
}

/**
 * A Hono app that serves a handler of the SDK needs the change for Hono alone, one with `@hono/mcp`
 * the change for that.
 */
function withoutTwins(found: FoundServer[]): FoundServer[] {
  const handlers = found.filter(({ kind }) => kind !== 'hono');
  const isHonoMcp = found.some(({ kind }) => kind === 'hono-mcp');
  const routes = found.filter(({ kind }) => kind === 'hono' && !isHonoMcp);
  if (routes.length === 0 || handlers.length === 0) return handlers;
  return [...routes, ...handlers.filter(({ kind }) => kind !== 'sdk')];
}

function at({ kind, line, path }: FoundServer): string {
  return `${path}:${line} ${USES[kind]}`;
}

/** Returns an import statement to print. */
function imports(names: string, module: string): string {
  return `import { ${names} } from '${module}';`;
}

const USES: Record<ServerKind, string> = {
  agents: 'uses createMcpHandler of the Agents SDK, which notifies within one isolate. Wrap it:',
  hono: 'serves MCP with Hono. Register the handler for its route like this:',
  'hono-mcp':
    'serves MCP with @hono/mcp. Create a server and a transport for each request, and let\n' +
    'this package keep the sessions of its clients:',
  'mcp-agent':
    'uses McpAgent, which is deprecated and does not serve subscriptions/listen. Move what its\n' +
    'init() registers into a function that returns the server, and serve that:',
  sdk:
    'uses createMcpHandler of the SDK, which notifies within one isolate. Import it\n' +
    'from mcp-listen/sdk instead, and pass the bus:',
  'sdk-1':
    'uses a transport of version 1 of the SDK, which does not know subscriptions/listen.\n' +
    'Move to createMcpHandler of @modelcontextprotocol/server, or put the gateway in front of\n' +
    'the server: see docs/gateway.md.',
};

const BUS_IMPORTS = `  ${imports('env', 'cloudflare:workers')}
  ${imports('durableObjectBus', 'mcp-listen/cloudflare')}`;

const WRAPPED = `  ${imports('createListenHandler, publishChanges', 'mcp-listen')}

  const bus = durableObjectBus(env.MCP_BUS);
  const server = createListenHandler(createMcpHandler(publishChanges(factory, bus)), { bus });
  export default { fetch: server.fetch };

factory is the function that you passed to createMcpHandler.`;

/** Returns the change for `@hono/mcp`, on a bus that two lines of code import and create. */
function honoMcp(busImport: string, bus: string): string {
  return `${busImport}
  ${imports('publishChanges', 'mcp-listen')}
  ${imports('listenMiddleware', 'mcp-listen/hono')}

  const bus = ${bus};
  const createServer = publishChanges(factory, bus);
  const handler = new Hono().all('*', async (c) => {
    const transport = new StreamableHTTPTransport();
    await (await createServer()).connect(transport);
    return transport.handleRequest(c);
  });
  const mcp = listenMiddleware((request) => handler.fetch(request), {
    bus,
    advertise: 'all',
    legacy: 'sessions',
  });
  app.all('/mcp', mcp);

factory is the function that returns your McpServer. See "@hono/mcp" in docs/frameworks.md for
callers with names.`;
}

const BY_KIND: Record<ServerKind, string> = {
  agents: `${BUS_IMPORTS}\n${WRAPPED}`,
  hono: `${BUS_IMPORTS}
  ${imports('createMcpHandler', '@modelcontextprotocol/server')}
  ${imports('publishChanges', 'mcp-listen')}
  ${imports('listenMiddleware', 'mcp-listen/hono')}

  const bus = durableObjectBus(env.MCP_BUS);
  app.all('/mcp', listenMiddleware(createMcpHandler(publishChanges(factory, bus)), { bus }));

factory is the function that returns your McpServer.`,
  'hono-mcp': honoMcp(BUS_IMPORTS, 'durableObjectBus(env.MCP_BUS)'),
  'mcp-agent': `${BUS_IMPORTS}
  ${imports('McpServer', '@modelcontextprotocol/server')}
  ${imports('createMcpHandler', 'agents/mcp/server')}
  ${imports('createListenHandler, publishChanges', 'mcp-listen')}

  function factory() {
    const server = new McpServer({ name: 'NAME', version: '1.0.0' });
    // what init() registers
    return server;
  }

  const bus = durableObjectBus(env.MCP_BUS);
  const server = createListenHandler(createMcpHandler(publishChanges(factory, bus)), { bus });
  export default { fetch: server.fetch };

State that the agent kept for each session belongs in an object of your own. Clients of 2025 keep
their sessions: see docs/sessions.md.`,
  sdk: `${BUS_IMPORTS}
  ${imports('createMcpHandler', 'mcp-listen/sdk')}

  createMcpHandler(factory, { bus: durableObjectBus(env.MCP_BUS) })`,
  'sdk-1': '  npx mcp-listen doctor URL says what clients of each revision get from it today.',
};

const FIRST = 'Next: npm install, and change these places:';

const PLAIN = `Next: npm install, and put createListenHandler in front of your MCP handler
(env is the argument of your Worker's fetch, or the export of cloudflare:workers):

  ${imports('createListenHandler', 'mcp-listen')}
  ${imports('durableObjectBus', 'mcp-listen/cloudflare')}

  const server = createListenHandler(mcp, { bus: durableObjectBus(env.MCP_BUS) });
  export default { fetch: (request) => server.fetch(request) };`;

const UPDATES = `Clients can subscribe to resources only if the server declares it, and learn of a
change only if the server sends an update. Declare the one, and send the other where a resource has
changed:

  new McpServer(info, { capabilities: { resources: { subscribe: true } } })

  await server.server.sendResourceUpdated({ uri });

See docs/publish-changes.md.`;

const TYPES = `In TypeScript, npx wrangler types declares env.MCP_BUS in
worker-configuration.d.ts. Add that file to include in tsconfig.json, unless it is there.`;

const REDIS_IMPORT = `  ${imports('redisBus', 'mcp-listen/redis')}`;

const SHARED = `Next: npm install. With several processes, pass a bus that they share:

${REDIS_IMPORT}

  createMcpHandler(factory, { bus: redisBus('redis://localhost') })
`;

const TRY_ELSEWHERE =
  'Try it as clients would: npx mcp-listen doctor URL, with the URL of its MCP endpoint.\n';

/** What to change by hand on a host other than Workers. */
const ELSEWHERE: Partial<Record<ServerKind, string>> = {
  'hono-mcp': `${honoMcp(REDIS_IMPORT, "redisBus('redis://localhost')")}
In a single process bus is new InMemoryBus() of mcp-listen.

Next: npm install. ${TRY_ELSEWHERE}`,
  'sdk-1': BY_KIND['sdk-1'],
};

const ENDPOINT = `The MCP endpoint is http://localhost:8787/mcp.
Try it as clients would: npx mcp-listen doctor http://localhost:8787/mcp`;

const TRY = `npx wrangler dev serves it. ${ENDPOINT.replace('is', 'is then')}`;
