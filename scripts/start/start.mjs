import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { build, isCoreBuilt, workerBundle } from '../build/build.mjs';
import { main, onStop } from '../process/main.mjs';
import { sideBySide } from '../process/side-by-side.mjs';
import { step } from '../process/step.mjs';
import { missingParts, setUp } from '../setup/setup.mjs';
import { startWorkerd } from '../workerd/workerd.mjs';
import { costs, demoBundle, demoParts } from './demo.mjs';

async function start() {
  const port = wantedPort(process.env['PORT'] || '8787');
  await expectFree(port);
  const bundle = await builtWorker();
  const token = process.env['PUBLISH_TOKEN'] || randomBytes(16).toString('base64url');
  const text = { ...everythingOn(token), ...fromEnvironment(process.env) };
  const reachesLocal = 'UPSTREAM' in text;
  const workerd = await step('Starting workerd', () =>
    startWorkerd({ bundle, port, text, reachesLocal }),
  );
  let stopping = false;
  onStop(() => {
    stopping = true;
    return workerd.stop();
  });
  process.exitCode = 0;
  process.stdout.write(
    reachesLocal ? gatewayWelcome(workerd.url ?? '', token) : welcome(workerd.url ?? '', token),
  );
  await workerd.exited;
  if (!stopping) throw new Error(`workerd ended by itself\n${workerd.log()}`);
}

/**
 * The Worker that would ship, where `npm run build` has built the core; else one that is built
 * faster.
 */
async function builtWorker() {
  if (await isCoreBuilt()) {
    await setUp();
    await build();
    return workerBundle;
  }
  await sideBySide([...(await missingParts()), ...(await demoParts())], costs);
  return demoBundle;
}

/**
 * The variables that switch on what a deployment keeps off: only this machine is served.
 * @param {string} token the secret of publishers
 */
function everythingOn(token) {
  const switches = { CONSOLE: 'on', NOTEBOOK_WRITE: 'on', STATS_OPEN: 'on' };
  return { ...switches, PUBLISH_TOKEN: token, ALLOWED_HOSTS: 'localhost,127.0.0.1,[::1]' };
}

/**
 * What the environment says of the hosts, and makes the Worker a gateway.
 * @param {NodeJS.ProcessEnv} environment
 * @returns {Record<string, string>}
 */
function fromEnvironment(environment) {
  const names = [
    ...[
      'UPSTREAM',
      'UPSTREAM_TOKEN',
      'UPSTREAM_WATCH',
      'UPSTREAM_RIGHTS',
      'TENANTS',
      'TENANT_NAMES',
    ],
    ...['CREDENTIAL_HEADERS', 'UNKNOWN_METHOD', 'ALLOWED_HOSTS'],
  ];
  return Object.fromEntries(
    names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
  );
}

/** @param {string} text a port, 0 for any that is free */
function wantedPort(text) {
  const port = Number(text);
  if (/^\d+$/.test(text) && port < 65_536) return port;
  throw new Error(`PORT is ${JSON.stringify(text)}: it has to be a number from 0 to 65535`);
}

/** @param {number} port */
async function expectFree(port) {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening').catch((error) => {
    const cause = error.code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${error.code})`;
    throw new Error(
      `port ${port} ${cause}: set another one, as in "PORT=${port === 65_535 ? 8787 : port + 1} npm start"`,
    );
  });
  await new Promise((resolve) => server.close(resolve));
}

/**
 * @param {string} origin
 * @param {string} token who bears it may publish
 */
function welcome(origin, token) {
  return `
MCP endpoint  ${origin}/mcp
Console       ${origin}/#publish=${token}

Two edge isolates hold the streams, in turn; one Durable Object is the bus between them.
Listen in a second terminal:

${request(origin, 'subscriptions/listen', '', listen)}

Change the note in a third; the stream hears of it, whichever isolate the change went to:

${request(origin, 'tools/call', " -H 'Mcp-Name: edit_note'", edit)}

Or publish to the bus itself:

${publishing(origin, token)}

Ctrl-C stops everything.
`;
}

/**
 * @param {string} origin
 * @param {string} token who bears it may publish
 */
function gatewayWelcome(origin, token) {
  const { TENANTS, TENANT_NAMES = '', UPSTREAM } = process.env;
  if (TENANTS)
    return tenantsWelcome(origin, token, TENANTS, TENANT_NAMES.split(',')[0]?.trim() ?? '');
  return `
MCP endpoint  ${origin}/mcp, in front of ${UPSTREAM}
Console       ${origin}/#publish=${token}

Publish what changed:

${publishing(origin, token)}

Ctrl-C stops everything.
`;
}

/**
 * @param {string} origin
 * @param {string} token that of the operator, from which those of the tenants are derived
 * @param {string} by what tells the tenants apart
 * @param {string} tenant one of them
 */
function tenantsWelcome(origin, token, by, tenant) {
  const secret = createHmac('sha256', token).update(`mcp-listen publish ${tenant}`).digest('hex');
  const base = by === 'path' ? `${origin}/${tenant}` : origin.replace('127.0.0.1', tenant);
  return `
MCP endpoint  ${base}/mcp, in front of ${process.env['UPSTREAM']}, and so for each tenant

Publish what changed for ${tenant}:

${publishing(base, secret)}

Ctrl-C stops everything.
`;
}

/**
 * @param {string} origin
 * @param {string} method
 * @param {string} headers further ones, as arguments for curl
 * @param {object} params
 */
function request(origin, method, headers, params) {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method,
    params: { _meta: envelope, ...params },
  });
  return `curl -N ${origin}/mcp -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: ${method}'${headers} -d '${body}'`;
}

/**
 * @param {string} origin
 * @param {string} token
 */
function publishing(origin, token) {
  const event = JSON.stringify({ kind: 'resource_updated', uri: 'note://todo' });
  return `curl ${origin}/publish -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '${event}'`;
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const listen = {
  notifications: { toolsListChanged: true, resourceSubscriptions: ['note://todo'] },
};
const edit = { name: 'edit_note', arguments: { name: 'todo', text: 'buy oat milk' } };

await main(import.meta.url, start);
