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
import { variablesOf } from './variables.mjs';

/** @typedef {{ publish: string, operator: string }} Tokens of publishers and of operators */

async function start() {
  const port = wantedPort(process.env['PORT'] || '8787');
  await expectFree(port);
  const bundle = await builtWorker();
  const tokens = { publish: tokenOf('PUBLISH_TOKEN'), operator: tokenOf('OPERATOR_TOKEN') };
  const text = variablesOf(tokens, process.env);
  const workerd = await step('Starting workerd', () =>
    // The upstream server and webhooks are on this machine.
    startWorkerd({ bundle, port, text, reachesLocal: true }),
  );
  let stopping = false;
  onStop(() => {
    stopping = true;
    return workerd.stop();
  });
  process.exitCode = 0;
  process.stdout.write(
    'UPSTREAM' in text
      ? gatewayWelcome(workerd.url ?? '', tokens)
      : welcome(workerd.url ?? '', tokens),
  );
  await workerd.exited;
  if (!stopping) throw new Error(`workerd ended unexpectedly\n${workerd.log()}`);
}

/**
 * Returns the Worker of the release if `npm run build` has built the core; otherwise builds one
 * that takes less time.
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

/** @param {string} name of a variable of the environment; without it, the token is random */
function tokenOf(name) {
  return process.env[name] || randomBytes(16).toString('base64url');
}

/** @param {string} text a port, 0 for any that is free */
function wantedPort(text) {
  const port = Number(text);
  if (/^\d+$/.test(text) && port < 65_536) return port;
  throw new Error(`PORT is ${JSON.stringify(text)}: it must be a number from 0 to 65535`);
}

/** @param {number} port */
async function expectFree(port) {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening').catch((error) => {
    const cause = error.code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${error.code})`;
    const other = port === 65_535 ? 8787 : port + 1;
    throw new Error(`port ${port} ${cause}: set another one, as in "PORT=${other} npm start"`);
  });
  await new Promise((resolve) => server.close(resolve));
}

/**
 * @param {string} origin
 * @param {Tokens} tokens
 */
function welcome(origin, { operator, publish }) {
  return `
MCP endpoint  ${origin}/mcp
Console       ${origin}/#token=${operator}

Two edge isolates hold the streams alternately; one Durable Object is the bus between them.
Listen in a second terminal:

${request(origin, 'subscriptions/listen', '', listen)}

Change the note in a third one; the stream receives the change, whichever isolate handles it:

${request(origin, 'tools/call', " -H 'Mcp-Name: edit_note'", edit)}

Or publish to the bus directly:

${publishing(origin, publish, { kind: 'resource_updated', uri: 'note://todo' })}

Ctrl-C stops everything.
`;
}

/**
 * @param {string} origin
 * @param {Tokens} tokens
 */
function gatewayWelcome(origin, { operator, publish }) {
  const { TENANTS, TENANT_NAMES = '', UPSTREAM } = process.env;
  if (TENANTS)
    return tenantsWelcome(origin, publish, TENANTS, TENANT_NAMES.split(',')[0]?.trim() ?? '');
  return `
MCP endpoint  ${origin}/mcp, in front of ${UPSTREAM}
Console       ${origin}/#token=${operator}

Publish a change:

${publishing(origin, publish, toolsChanged)}

Ctrl-C stops everything.
`;
}

/**
 * @param {string} origin
 * @param {string} token from which the tenants' secrets are derived
 * @param {string} key `path` or `host`: what identifies the tenant
 * @param {string} tenant one of them
 */
function tenantsWelcome(origin, token, key, tenant) {
  const secret = createHmac('sha256', token).update(`mcp-listen publish ${tenant}`).digest('hex');
  const base = key === 'path' ? `${origin}/${tenant}` : origin.replace('127.0.0.1', tenant);
  return `
MCP endpoint  ${base}/mcp, in front of ${process.env['UPSTREAM']}; each tenant has its own URL

Publish a change for ${tenant}:

${publishing(base, secret, toolsChanged)}

Ctrl-C stops everything.
`;
}

/**
 * @param {string} origin
 * @param {string} method
 * @param {string} headers further headers, as arguments for curl
 * @param {object} params
 */
function request(origin, method, headers, params) {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method,
    params: { _meta: envelope, ...params },
  });
  return (
    `curl -N ${origin}/mcp -H 'Content-Type: application/json' ` +
    "-H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' " +
    `-H 'Mcp-Method: ${method}'${headers} -d '${body}'`
  );
}

/**
 * @param {string} origin
 * @param {string} token
 * @param {object} event
 */
function publishing(origin, token, event) {
  return (
    `curl ${origin}/publish -H 'Authorization: Bearer ${token}' ` +
    `-H 'Content-Type: application/json' -d '${JSON.stringify(event)}'`
  );
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const listen = {
  notifications: { toolsListChanged: true, resourceSubscriptions: ['note://todo'] },
};
/** A change that every server may have. */
const toolsChanged = { kind: 'tools_list_changed' };
const edit = { name: 'edit_note', arguments: { name: 'todo', text: 'buy oat milk' } };

await main(import.meta.url, start);
