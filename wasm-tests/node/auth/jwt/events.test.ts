import { createListenHandler, InMemoryBus, type ListenHandlerOptions } from 'mcp-listen';
import { type AuthorizeEvent, defineEvents, eventLog } from 'mcp-listen/events';
import { jwtAuthorizer } from 'mcp-listen/jwt';
import { expect, test } from 'vitest';
import { discovering, requestOf } from '../../events/requests.ts';
import { AUDIENCE, ISSUER, type TokenIssuer, tokenIssuer } from './token-issuer.ts';

/** A server with one event type, which may have an `authorize`. */
function serving(options: ListenHandlerOptions, authorize?: AuthorizeEvent) {
  const bus = new InMemoryBus({ events: eventLog() });
  const events = defineEvents({ 'order.paid': {} }, authorize && { authorize });
  return createListenHandler(discovering, { bus, events, ...options });
}

function authorizer({ find }: TokenIssuer) {
  return jwtAuthorizer({ issuer: ISSUER, audience: AUDIENCE, jwks: find });
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
