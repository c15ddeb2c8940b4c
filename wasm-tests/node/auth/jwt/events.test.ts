import { createListenHandler, InMemoryBus, type ListenHandlerOptions } from 'mcp-listen';
import { type AuthorizeEvent, defineEvents, eventLog } from 'mcp-listen/events';
import { type JwtOptions, jwtAuthorizer } from 'mcp-listen/jwt';
import { expect, test } from 'vitest';
import { EventReader } from '../../../host/events.ts';
import { discovering, requestOf } from '../../events/requests.ts';
import { AUDIENCE, ISSUER, type TokenIssuer, tokenIssuer } from './token-issuer.ts';

/** A server with one event type, which may have an `authorize`. */
function serving(options: ListenHandlerOptions, authorize?: AuthorizeEvent) {
  const bus = new InMemoryBus({ events: eventLog() });
  const events = defineEvents({ 'order.paid': {} }, authorize && { authorize });
  return createListenHandler(discovering, { bus, events, ...options });
}

function authorizer({ find }: TokenIssuer, options: Partial<JwtOptions> = {}) {
  return jwtAuthorizer({ issuer: ISSUER, audience: AUDIENCE, jwks: find, ...options });
}

test('an authorize of the handler is no authorize for events, so events need one too', async () => {
  const missing = expect.objectContaining({
    code: 'invalid-options',
    message: expect.stringContaining('give defineEvents an authorize'),
  });
  const jwt = authorizer(await tokenIssuer());
  expect(() => serving({ ...jwt })).toThrow(missing);
  expect(() => serving({ authorize: () => ({}) })).toThrow(missing);
  expect(() => serving({ authorize: () => ({}), listen: 'off' })).toThrow(missing);
  expect(serving({ ...jwt }, () => true)).toBeDefined();
  expect(serving({ principal: jwt.principal })).toBeDefined();
});

test('the authorize of events decides by the claims of a token', async () => {
  const issuer = await tokenIssuer();
  const server = serving({ ...authorizer(issuer) }, ({ claims, name }) =>
    [(claims as { events?: unknown }).events].flat().includes(name),
  );
  const listed = async (claims: object): Promise<unknown> => {
    const request = requestOf('events/list', {}, 1);
    request.headers.set('authorization', `Bearer ${await issuer.token(claims)}`);
    const { result } = (await (await server.fetch(request)).json()) as {
      result: { events: { name: string }[] };
    };
    return result.events.map(({ name }) => name);
  };
  expect(await listed({ events: ['order.paid'] })).toEqual(['order.paid']);
  expect(await listed({})).toEqual([]);
});

test.each<[where: string, options: Partial<JwtOptions>, claims: (group: string) => object]>([
  ['its claim', {}, (group) => ({ 'mcp.listen': { groups: [group] } })],
  ['another claim', { groups: ({ org }) => [String(org)] }, (org) => ({ org })],
])(
  'a caller polls and streams what is published for the group in %s',
  async (_, options, claims) => {
    const issuer = await tokenIssuer();
    const server = serving({ ...authorizer(issuer, options) }, () => true);
    const asking = async (group: string, method: string, params: object) => {
      const request = requestOf(method, { name: 'order.paid', ...params }, 1);
      request.headers.set('authorization', `Bearer ${await issuer.token(claims(group))}`);
      return server.fetch(request);
    };
    const polled = async (group: string, cursor?: string) => {
      const response = await asking(group, 'events/poll', cursor === undefined ? {} : { cursor });
      const { result } = (await response.json()) as { result: Page };
      return result;
    };
    const { cursor } = await polled('acme');
    const stream = new EventReader(await asking('acme', 'events/stream', {}));
    await stream.next();
    await server.notify.event('order.paid', { to: 'bolt' }, { group: 'bolt' });
    await server.notify.event('order.paid', { to: 'acme' }, { group: 'acme' });
    await server.notify.event('order.paid', { to: 'all' });
    for (const to of ['acme', 'all'])
      expect(await stream.next()).toMatchObject({ params: { data: { to } } });
    expect((await polled('acme', cursor)).events).toMatchObject([
      { data: { to: 'acme' } },
      { data: { to: 'all' } },
    ]);
    await server.close();
  },
);

/** The result of `events/poll`. */
interface Page {
  cursor: string;
  events: object[];
}
