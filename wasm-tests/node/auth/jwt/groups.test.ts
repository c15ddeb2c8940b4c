import { type JwtOptions, jwtAuthorizer } from 'mcp-listen/jwt';
import { describe, expect, test } from 'vitest';
import { listChange, nextMessage } from '../../../host/legacy.ts';
import { listChanged } from '../../../host/listen.ts';
import { listenRequest, open, serving, TOOLS } from '../../serving.ts';
import { sessionServer, sessionStream } from '../../sessions/serving.ts';
import { AUDIENCE, ISSUER, RIGHTS, type TokenIssuer, tokenIssuer } from './token-issuer.ts';

function authorizer({ find }: TokenIssuer, groups?: JwtOptions['groups']) {
  const options = { issuer: ISSUER, audience: AUDIENCE, jwks: find };
  return jwtAuthorizer(groups === undefined ? options : { ...options, groups });
}

function claimed(...groups: string[]): object {
  return { 'mcp.listen': { ...RIGHTS, promptsListChanged: true, groups } };
}

async function bearer(issuer: TokenIssuer, claims: object): Promise<{ authorization: string }> {
  return { authorization: `Bearer ${await issuer.token(claims)}` };
}

describe('a caller receives the events of the groups', () => {
  const CASES: [where: string, option: JwtOptions['groups'], claims: (group: string) => object][] =
    [
      ['that its claim names', undefined, (group) => claimed(group)],
      [
        'that an option reads',
        ({ org }) => [String(org)],
        (org) => ({ ...claimed('acme', 'bolt'), org }),
      ],
    ];

  test.each(CASES)('%s, and of no others', async (_, option, claims) => {
    const issuer = await tokenIssuer();
    const server = serving({ ...authorizer(issuer, option) });
    const filter = { ...TOOLS, promptsListChanged: true };
    const opened = async (group: string) => {
      const headers = await bearer(issuer, claims(group));
      const stream = await open(server, filter, { headers });
      await stream.message();
      return stream;
    };
    const [acme, bolt] = [await opened('acme'), await opened('bolt')];
    await server.notify.toolsChanged({ group: 'acme' });
    await server.notify.promptsChanged();
    expect(await acme.message()).toBe(listChanged('1', 'tools'));
    expect(await bolt.message()).toBe(listChanged('1', 'prompts'));
  });
});

test('a caller without groups receives only events for everyone', async () => {
  const issuer = await tokenIssuer();
  const headers = await bearer(issuer, {});
  const server = serving({ ...authorizer(issuer) });
  const stream = await open(server, TOOLS, { headers });
  await stream.message();
  await server.notify.toolsChanged({ group: '*' });
  await server.notify.toolsChanged();
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  expect(server.stats()).toMatchObject({ events: 1, notifications: 1 });
});

test('the stream of a session receives the events of its groups too', async () => {
  const issuer = await tokenIssuer();
  const { send, server } = sessionServer({ ...authorizer(issuer) });
  const user = await bearer(issuer, {
    'mcp.listen': { toolsListChanged: true, resourcesListChanged: true, groups: ['acme'] },
  });
  const { stream } = await sessionStream(send, user);
  await server.notify.resourcesChanged({ group: 'bolt' });
  await server.notify.toolsChanged({ group: 'acme' });
  expect(await nextMessage(stream)).toEqual(listChange('tools'));
});

test('an option groups that throws gives 503, not 401', async () => {
  const issuer = await tokenIssuer();
  const errors: Error[] = [];
  const groups = () => {
    throw new Error('no');
  };
  const server = serving({ ...authorizer(issuer, groups), onError: (error) => errors.push(error) });
  const response = await server.fetch(listenRequest(TOOLS, { headers: await bearer(issuer, {}) }));
  expect(response.status).toBe(503);
  expect(errors).toMatchObject([{ code: 'authorizer-failed' }]);
});
