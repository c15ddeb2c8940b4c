import {
  AckTimeout,
  type ClientListenOptions,
  listen,
  SubscriptionLost,
  SubscriptionRefused,
} from 'mcp-listen/client';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { firstKind } from '../../host/first-kind.ts';
import {
  acknowledgment,
  hostile,
  result,
  type Turn,
  toolsChanged,
  updated,
} from '../../host/servers/hostile.ts';
import { pass } from '../../host/virtual-clock.ts';

const FILTER = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };

/** Listens to a server that plays `mode`; returns the events, and the code of the end. */
async function outcome(mode: (turn: Turn) => unknown, options: ClientListenOptions = {}) {
  const server = await hostile(mode);
  onTestFinished(() => server.stop());
  const events: string[] = [];
  try {
    const subscription = await listen(server.url, FILTER, { revision: '2026-07-28', ...options });
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
  test('drops the connection', async () => {
    const { events, error } = await outcome((turn) => turn.begin().drop());
    expect(events).toEqual(['disconnected']);
    expect(error).toBeInstanceOf(SubscriptionLost);
  });

  test('never responds', async () => {
    const { error } = await outcome(() => {}, { ackTimeoutMs: 100 });
    expect(error).toBeInstanceOf(AckTimeout);
  });

  test('acknowledges another id', async () => {
    const { error } = await outcome(
      (turn) => turn.begin().acknowledge('"mcp-listen:99"').change('"mcp-listen:99"'),
      {
        ackTimeoutMs: 100,
      },
    );
    expect(error).toBeInstanceOf(AckTimeout);
  });

  test('never finishes its acknowledgment', async () => {
    const mode = (turn: Turn) => {
      turn.begin().response.write('data: ');
      const timer = setInterval(() => turn.response.write(' '), 10);
      turn.response.once('close', () => clearInterval(timer));
    };
    const { error } = await outcome(mode, { ackTimeoutMs: 200 });
    expect(error).toBeInstanceOf(AckTimeout);
  });

  test('sends events, which the client ignores', async () => {
    const { events } = await outcome((turn) => {
      turn.begin().change().acknowledge().finish();
    });
    expect(events).toEqual(['honored 2', 'graceful']);
  });

  test('sends the result', async () => {
    const { events } = await outcome((turn) => turn.begin().finish());
    expect(events).toEqual(['honored 0', 'graceful']);
  });

  test('sends garbage', async () => {
    const page = (turn: Turn) =>
      turn.response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello</p>');
    expect((await outcome(page)).events).toEqual(['invalid-response']);
    const binary = (turn: Turn) =>
      turn.begin().response.end(Buffer.from([0, 255, 13, 10, 13, 254]));
    expect((await outcome(binary)).events).toEqual(['disconnected']);
  });

  test('sends an endless response', async () => {
    const mode = (turn: Turn) => {
      turn.response.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => turn.response.write(' '.repeat(65_536)), 1);
      turn.response.once('close', () => clearInterval(timer));
    };
    expect((await outcome(mode)).events).toEqual(['response-too-large']);
  });

  test('sends 429 with Retry-After', async () => {
    const { error } = await outcome((turn) => turn.refuse(429, { 'retry-after': '7' }));
    expect(error).toBeInstanceOf(SubscriptionRefused);
    expect(error).toMatchObject({ status: 429, retryAfterMs: 7_000 });
  });

  test('sends 401, then accepts another token', async () => {
    const tokens = ['old', 'new'];
    const seen: unknown[] = [];
    const mode = (turn: Turn) => {
      seen.push(turn.request.headers.authorization);
      if (turn.before === 0) turn.refuse(401);
      else turn.begin().acknowledge().finish();
    };
    const { events } = await outcome(mode, { token: () => tokens.shift() ?? '' });
    expect(seen).toEqual(['Bearer old', 'Bearer new']);
    expect(events).toEqual(['honored 2', 'graceful']);
  });

  test('sends 401 twice', async () => {
    const { error, server } = await outcome((turn) => turn.refuse(401), { token: () => 'wrong' });
    expect(error).toMatchObject({ status: 401 });
    expect(server.requests()).toBe(2);
  });
});

describe('on an open stream a hostile server', () => {
  test('sends partial frames', async () => {
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
    expect((await outcome(mode)).events).toEqual([
      'honored 2',
      'tools_list_changed',
      'disconnected',
    ]);
  });

  test('drops the connection', async () => {
    const mode = (turn: Turn) => {
      turn.begin().acknowledge();
      setTimeout(() => turn.drop(), 50);
    };
    const { events, error } = await outcome(mode);
    expect(events).toEqual(['honored 2', 'disconnected']);
    expect(error).toBeInstanceOf(SubscriptionLost);
  });

  test('sends events of other ids', async () => {
    const { events } = await outcome((turn) =>
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
    expect((await outcome(mode)).events).toEqual(['honored 2', 'line-too-long']);
  });

  test('sends a huge event', async () => {
    const mode = (turn: Turn) =>
      turn
        .begin()
        .acknowledge()
        .response.write(`data: ${'x'.repeat(1 << 19)}\n`.repeat(3));
    expect((await outcome(mode)).events).toEqual(['honored 2', 'event-too-large']);
  });

  test('sends garbage, after which the client resyncs', async () => {
    const { events } = await outcome((turn) =>
      turn.begin().acknowledge().say('{"jsonrpc":').finish(),
    );
    expect(events).toEqual(['honored 2', 'tools_list_changed', 'resource_updated', 'graceful']);
  });
});

describe('on an acknowledged stream a hostile server', () => {
  test('stays silent', async () => {
    const { events } = await outcome((turn) => turn.begin().acknowledge(), { maxSilenceMs: 200 });
    expect(events).toEqual(['honored 2', 'silence']);
  });

  test('sends keep-alives, which count as activity', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const say = (text: string) => void writer.write(new TextEncoder().encode(text));
    let id = '';
    const fetch = async (request: Request) => {
      id = JSON.stringify(((await request.json()) as { id: unknown }).id);
      say(`data: ${acknowledgment(id)}\n\n`);
      return new Response(readable, { headers: { 'content-type': 'text/event-stream' } });
    };
    const subscription = await listen('http://localhost/mcp', FILTER, {
      fetch: fetch as typeof globalThis.fetch,
      maxSilenceMs: 700,
      revision: '2026-07-28',
    });
    const ended = firstKind(subscription);
    for (let beats = 0; beats < 10; beats += 1) {
      await pass(600);
      say(':\n\n');
    }
    say(`data: ${result(id)}\n\n`);
    expect(await ended).toBeUndefined();
  });

  test('cancels the subscription', async () => {
    const cancelled = (id: string) =>
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`;
    const { events } = await outcome((turn) => turn.begin().acknowledge().say(cancelled(turn.id)));
    expect(events).toEqual(['honored 2', 'cancelled']);
  });

  test('sends an update of a sub-resource', async () => {
    const { events } = await outcome((turn) =>
      turn.begin().acknowledge().say(updated(turn.id, 'note://a/part')).finish(),
    );
    expect(events).toEqual(['honored 2', 'resource_updated', 'graceful']);
  });
});
