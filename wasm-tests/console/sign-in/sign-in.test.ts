import { createListenHandler } from 'mcp-listen';
import { createConsole } from 'mcp-listen/console';
import { createProtectedResourceHandler } from 'mcp-listen/jwt';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useBrowser } from '../browser.ts';
import type { ConsolePage } from '../console-page.ts';
import { type Elsewhere, serveElsewhere } from '../guarded-server.ts';
import { useNotebook } from '../notebook.ts';
import { AuthorizationServer } from './authorization-server.ts';

const open = useBrowser();
const notebook = useNotebook();
let authorizer: AuthorizationServer;
let lamp: Elsewhere;

beforeAll(async () => {
  authorizer = await AuthorizationServer.start();
  lamp = await serveElsewhere((token) => authorizer.accepts(token), {}, {}, also);
});
afterAll(async () => {
  await lamp?.stop();
  await authorizer?.stop();
});

test('a user signs in to a server of another origin, whose subscriptions use the token', async () => {
  const console = await open(notebook());
  await console.connected();
  await console.connectTo(`${lamp.origin}/mcp`);
  await console.connection.getByText(MISSING).waitFor();
  await signIn(console, 'Allow');
  await console.page.getByText('A lamp', { exact: true }).waitFor();
  expect(console.page.url()).toBe(`${new URL(notebook()).origin}/`);
  await console.subscribe('A');
  await lamp.server.notify.resourceUpdated('lamp://desk');
  await expect.poll(() => console.figure('A', 'Last cue').textContent()).toBe('lamp://desk');
  const kept = await console.page.evaluate(() => [
    JSON.stringify(sessionStorage).includes('access_token'),
    JSON.stringify(localStorage).includes('token'),
    document.cookie,
  ]);
  expect(kept).toEqual([true, false, '']);
  expectRefusalsOnly(console);
});

test('a token that is no longer accepted is refreshed, and lasts for a reload of the page', async () => {
  const console = await open(notebook());
  await console.connected();
  await console.page.getByLabel('MCP endpoint').fill(`${lamp.origin}/mcp`);
  await signIn(console, 'Allow');
  await console.connected();
  authorizer.revoke();
  authorizer.grants.length = 0;
  expect(await console.callTool('switch')).toContain('ms');
  expect(authorizer.grants).toEqual(['refresh_token']);
  authorizer.revoke();
  await console.subscribe('A');
  expect(authorizer.grants).toEqual(['refresh_token', 'refresh_token']);
  await console.page.reload();
  await console.page.getByText('Notebook', { exact: true }).waitFor();
  await console.connectTo(`${lamp.origin}/mcp`);
  await console.page.getByText('A lamp', { exact: true }).waitFor();
  expectRefusalsOnly(console);
});

test('requests that are refused at the same time refresh the token once', async () => {
  const console = await open(notebook());
  await console.connected();
  await console.page.getByLabel('MCP endpoint').fill(`${lamp.origin}/mcp`);
  await signIn(console, 'Allow');
  await console.connected();
  await console.page.getByLabel('Kind of message').selectOption('Results');
  const lists = console.messages.filter({ hasText: 'result of tools/list' });
  const before = await lists.count();
  for (const [more, name] of ['A', 'B'].entries()) {
    await console.subscribe(name);
    // The list is read again when the subscription is live.
    await expect.poll(() => lists.count()).toBe(before + more + 1);
  }
  authorizer.revoke();
  authorizer.grants.length = 0;
  await lamp.server.notify.toolsChanged();
  await expect.poll(() => lists.count()).toBe(before + 4);
  expect(await console.callTool('switch')).toContain('ms');
  expect(authorizer.grants).toEqual(['refresh_token']);
  expectRefusalsOnly(console);
});

test('a page that is mounted under a path returns there, and reports that the user has denied', async () => {
  const console = await open(`${lamp.origin}/tools/console/`);
  await console.connection.getByText(MISSING).waitFor();
  await signIn(console, 'Deny');
  await console.connection.getByText('Signing in failed: access_denied').waitFor();
  expect(console.page.url()).toBe(`${lamp.origin}/tools/console/`);
  await signIn(console, 'Allow');
  await console.connected();
  expect(console.page.url()).toBe(`${lamp.origin}/tools/console/`);
  expectRefusalsOnly(console);
});

test('a response to another sign-in is not redeemed', async () => {
  authorizer.grants.length = 0;
  const console = await open(`${lamp.origin}/tools/console/`);
  await console.connection.getByText(MISSING).waitFor();
  await console.button('Sign in').click();
  const link = console.page.getByRole('link', { name: 'Allow' });
  const answer = new URL((await link.getAttribute('href')) ?? '');
  answer.searchParams.set('state', 'of another');
  await console.page.goto(answer.href);
  await console.connection.getByText(MISSING).waitFor();
  expect(authorizer.grants).toEqual([]);
  expectRefusalsOnly(console);
});

/** Signs in, and submits the page of the authorization server. */
async function signIn({ page }: ConsolePage, answer: 'Allow' | 'Deny'): Promise<void> {
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('link', { name: answer }).click();
}

/** Serves the console under a path, and the metadata of the server. */
async function also(request: Request): Promise<Response | undefined> {
  const { origin } = new URL(request.url);
  const resource = { resource: `${origin}/mcp`, authorizationServers: [authorizer.issuer] };
  return createProtectedResourceHandler(resource)(request) ?? mounted(request);
}

const unused = { fetch: async () => new Response() };
const mounted = createConsole({ server: createListenHandler(unused), path: '/tools/console/' });

/** The browser logs every 401. */
function expectRefusalsOnly({ errors }: ConsolePage): void {
  expect(errors.splice(0).filter((error) => !error.includes('401'))).toEqual([]);
}

const MISSING = 'The token is missing or wrong (401). Enter one, or sign in.';
