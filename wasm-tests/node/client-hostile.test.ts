import {
  AckTimeout,
  type ClientListenOptions,
  listen,
  SubscriptionLost,
  SubscriptionRefused,
} from 'mcp-listen/client';
import { afterEach, describe, expect, test } from 'vitest';
import {
  acknowledgment,
  hostile,
  result,
  type Turn,
  toolsChanged,
  updated,
} from '../host/servers/hostile.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const FILTER = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };

/** Listens to a server that plays `mode`; what it tells until its end, and the code of that. */
async function told(mode: (turn: Turn) => unknown, options: ClientListenOptions = {}) {
  const server = await hostile(mode);
  ends.push(() => server.stop());
  const events: string[] = [];
  try {
    const subscription = await listen(server.url, FILTER, { era: '2026-07-28', ...options });
    events.push(`honored ${Object.keys(subscription.honored).length}`);
    for await (const event of subscription) events.push(event.kind);
    events.push('graceful');
  } catch (error) {
    events.push((error as { code: string }).code);
    return { events, error, server };
  }
  return { events, error: undefined, server };
}

describe('before the acknowledgment a hostile server', () => {
  test('drops', async () => {
    const { events, error } = await told((turn) => turn.begin().drop());
    expect(events).toEqual(['disconnected']);
    expect(error).toBeInstanceOf(SubscriptionLost);
  });

  test('never answers', async () => {
    const { error } = await told(() => {}, { ackTimeoutMs: 100 });
    expect(error).toBeInstanceOf(AckTimeout);
  });

  test('acknowledges another id', async () => {
    const { error } = await told(
      (turn) => turn.begin().acknowledge('"mcp-listen:99"').change('"mcp-listen:99"'),
      {
        ackTimeoutMs: 100,
      },
    );
    expect(error).toBeInstanceOf(AckTimeout);
  });

  test('acknowledges without end', async () => {
    const mode = (turn: Turn) => {
      turn.begin().response.write('data: ');
      const timer = setInterval(() => turn.response.write(' '), 10);
      turn.response.once('close', () => clearInterval(timer));
    };
    const { error } = await told(mode, { ackTimeoutMs: 200 });
    expect(error).toBeInstanceOf(AckTimeout);
  });

  test('sends events, which nobody hears', async () => {
    const { events } = await told((turn) => {
      turn.begin().change().acknowledge().finish();
    });
    expect(events).toEqual(['honored 2', 'graceful']);
  });

  test('sends the result', async () => {
    const { events } = await told((turn) => turn.begin().finish());
    expect(events).toEqual(['honored 0', 'graceful']);
  });

  test('sends garbage', async () => {
    const page = (turn: Turn) =>
      turn.response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello</p>');
    expect((await told(page)).events).toEqual(['invalid-answer']);
    const binary = (turn: Turn) =>
      turn.begin().response.end(Buffer.from([0, 255, 13, 10, 13, 254]));
    expect((await told(binary)).events).toEqual(['disconnected']);
  });

  test('sends an answer without end', async () => {
    const mode = (turn: Turn) => {
      turn.response.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => turn.response.write(' '.repeat(65_536)), 1);
      turn.response.once('close', () => clearInterval(timer));
    };
    expect((await told(mode)).events).toEqual(['answer-too-large']);
  });

  test('sends 429 with Retry-After', async () => {
    const { error } = await told((turn) => turn.refuse(429, { 'retry-after': '7' }));
    expect(error).toBeInstanceOf(SubscriptionRefused);
    expect(error).toMatchObject({ status: 429, retryAfterMs: 7_000 });
  });

  test('sends 401, then takes another token', async () => {
    const tokens = ['old', 'new'];
    const seen: unknown[] = [];
    const mode = (turn: Turn) => {
      seen.push(turn.request.headers.authorization);
      if (turn.before === 0) turn.refuse(401);
      else turn.begin().acknowledge().finish();
    };
    const { events } = await told(mode, { token: () => tokens.shift() ?? '' });
    expect(seen).toEqual(['Bearer old', 'Bearer new']);
    expect(events).toEqual(['honored 2', 'graceful']);
  });

  test('sends 401 twice', async () => {
    const { error, server } = await told((turn) => turn.refuse(401), { token: () => 'wrong' });
    expect(error).toMatchObject({ status: 401 });
    expect(server.requests()).toBe(2);
  });
});

describe('on an open stream a hostile server', () => {
  test('sends half frames', async () => {
    const mode = async (turn: Turn) => {
      turn.begin();
      for (const byte of Buffer.from(
        `data: ${acknowledgment(turn.id)}\r\n\r\ndata: ${toolsChanged(turn.id)}\r\r`,
      )) {
        turn.response.write(Buffer.of(byte));
        await new Promise(setImmediate);
      }
      turn.response.end(`data: ${result(turn.id)}\n`);
    };
    expect((await told(mode)).events).toEqual(['honored 2', 'tools_list_changed', 'disconnected']);
  });

  test('drops', async () => {
    const mode = (turn: Turn) => {
      turn.begin().acknowledge();
      setTimeout(() => turn.drop(), 50);
    };
    const { events, error } = await told(mode);
    expect(events).toEqual(['honored 2', 'disconnected']);
    expect(error).toBeInstanceOf(SubscriptionLost);
  });

  test('sends events of other ids', async () => {
    const { events } = await told((turn) =>
      turn.begin().acknowledge().change('"another"').change('7').finish(),
    );
    expect(events).toEqual(['honored 2', 'graceful']);
  });

  test('sends a huge line', async () => {
    const mode = (turn: Turn) =>
      turn
        .begin()
        .acknowledge()
        .response.write(`data: ${'x'.repeat(2 << 20)}`);
    expect((await told(mode)).events).toEqual(['honored 2', 'line-too-long']);
  });

  test('sends a huge event', async () => {
    const mode = (turn: Turn) =>
      turn
        .begin()
        .acknowledge()
        .response.write(`data: ${'x'.repeat(1 << 19)}\n`.repeat(3));
    expect((await told(mode)).events).toEqual(['honored 2', 'event-too-large']);
  });

  test('sends garbage, after which everything is told', async () => {
    const { events } = await told((turn) => turn.begin().acknowledge().say('{"jsonrpc":').finish());
    expect(events).toEqual(['honored 2', 'tools_list_changed', 'resource_updated', 'graceful']);
  });

  test('is silent', async () => {
    const { events } = await told((turn) => turn.begin().acknowledge(), { maxSilenceMs: 200 });
    expect(events).toEqual(['honored 2', 'silence']);
  });

  test('sends keep-alives, which are life', async () => {
    const mode = (turn: Turn) => {
      turn.begin().acknowledge();
      let beats = 0;
      const timer = setInterval(() => {
        beats += 1;
        if (beats < 10) return turn.response.write(':\n\n');
        clearInterval(timer);
        return turn.finish();
      }, 100);
    };
    expect((await told(mode, { maxSilenceMs: 700 })).events).toEqual(['honored 2', 'graceful']);
  });

  test('gives the subscription up', async () => {
    const cancelled = (id: string) =>
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`;
    const { events } = await told((turn) => turn.begin().acknowledge().say(cancelled(turn.id)));
    expect(events).toEqual(['honored 2', 'cancelled']);
  });

  test('tells of a part of a resource that was asked for', async () => {
    const { events } = await told((turn) =>
      turn.begin().acknowledge().say(updated(turn.id, 'note://a/part')).finish(),
    );
    expect(events).toEqual(['honored 2', 'resource_updated', 'graceful']);
  });
});
