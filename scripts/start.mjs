import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { build, workerBundle } from './build.mjs';
import { main, onStop } from './main.mjs';
import { setUp } from './setup.mjs';
import { step } from './step.mjs';
import { startWorkerd } from './workerd.mjs';

async function start() {
  const port = wantedPort(process.env['PORT'] || '8787');
  await expectFree(port);
  await setUp();
  await build();
  const token = process.env['PUBLISH_TOKEN'] || randomBytes(16).toString('base64url');
  const text = { PUBLISH_TOKEN: token, STATS_OPEN: 'yes', ...gateway(process.env) };
  const reachesLocal = 'UPSTREAM' in text;
  const workerd = await step('Starting workerd', () =>
    startWorkerd({ bundle: workerBundle, port, text, reachesLocal }),
  );
  let stopping = false;
  onStop(() => {
    stopping = true;
    return workerd.stop();
  });
  process.exitCode = 0;
  process.stdout.write(reachesLocal ? gatewayWelcome(workerd.url ?? '', token) : welcome(workerd.url ?? '', token));
  await workerd.exited;
  if (!stopping) throw new Error(`workerd ended by itself\n${workerd.log()}`);
}

/**
 * What makes the Worker a gateway, as far as the environment says so.
 * @param {NodeJS.ProcessEnv} environment
 * @returns {Record<string, string>}
 */
function gateway(environment) {
  const names = [
    ...['UPSTREAM', 'UPSTREAM_TOKEN', 'UPSTREAM_WATCH', 'UPSTREAM_RIGHTS', 'TENANTS'],
    ...['CREDENTIAL_HEADERS', 'UNKNOWN_METHOD'],
  ];
  return Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
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
  return `
MCP endpoint  ${origin}/mcp, in front of ${process.env['UPSTREAM']}
Console       ${origin}/#publish=${token}

Publish what changed:

${publishing(origin, token)}

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
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta: envelope, ...params } });
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
const listen = { notifications: { toolsListChanged: true, resourceSubscriptions: ['note://todo'] } };
const edit = { name: 'edit_note', arguments: { name: 'todo', text: 'buy oat milk' } };

await main(import.meta.url, start);
