// An MCP server in an app of Express. `TOKENS='{"a-secret":"ann"}' node server.mjs` starts it, and
// serves callers with one of these tokens.
import { requireBearerAuth } from '@modelcontextprotocol/express';
import {
  createMcpHandler,
  McpServer,
  OAuthError,
  OAuthErrorCode,
} from '@modelcontextprotocol/server';
import express from 'express';
import { createListenHandler, InMemoryBus, publishChanges } from 'mcp-listen';
import { toNodeHandler } from 'mcp-listen/node';

let isOn = false;

function lampServer() {
  const server = new McpServer(
    { name: 'lamp', version: '1.0.0' },
    { capabilities: { resources: { subscribe: true } } },
  );
  server.registerResource('desk', 'lamp://desk', { description: 'The lamp on the desk' }, () => ({
    contents: [{ uri: 'lamp://desk', text: isOn ? 'on' : 'off' }],
  }));
  const dim = server.registerTool('dim', { description: 'Dims the lamp' }, () => ({
    content: [{ type: 'text', text: 'Dimmed.' }],
  }));
  if (!isOn) dim.disable();
  server.registerTool('switch', { description: 'Switches the lamp' }, async () => {
    isOn = !isOn;
    dim.update({ enabled: isOn });
    await server.server.sendResourceUpdated({ uri: 'lamp://desk' });
    return { content: [{ type: 'text', text: isOn ? 'on' : 'off' }] };
  });
  return server;
}

const bus = new InMemoryBus();
const server = createListenHandler(createMcpHandler(publishChanges(lampServer, bus)), {
  bus,
  // `requireBearerAuth` sets `req.auth`. Its `extra.sub` names the caller until it expires.
  principal: (_request, options) => options?.authInfo,
});

/** @type {Record<string, string>} Users by token. */
const users = JSON.parse(process.env.TOKENS ?? '{}');
/**
 * Replace this with a verifier of the tokens that your authorization server issues.
 *
 * @type {import('@modelcontextprotocol/server').OAuthTokenVerifier}
 */
const verifier = {
  async verifyAccessToken(token) {
    const sub = Object.hasOwn(users, token) ? users[token] : undefined;
    if (sub === undefined) throw new OAuthError(OAuthErrorCode.InvalidToken, 'unknown token');
    const expiresAt = Math.floor(Date.now() / 1_000) + 3_600;
    return { token, clientId: 'lamp', scopes: [], expiresAt, extra: { sub } };
  },
};
const port = Number(process.env.PORT ?? 8787);
// By default only programs of this machine can connect. Set HOST to 0.0.0.0 only behind a proxy
// that authenticates callers.
const host = process.env.HOST ?? '127.0.0.1';

const app = express();
app.use(express.json());
const handler = toNodeHandler(server);
app.all('/mcp', requireBearerAuth({ verifier }), handler);

app.listen(port, host, () => console.log(`The lamp is at http://${host}:${port}/mcp`));

// Each stream ends with its pending notifications and its result. Slow readers have 5 seconds.
process.once('SIGTERM', async () => {
  await server.close();
  await handler.flushed(5_000);
  process.exit();
});
