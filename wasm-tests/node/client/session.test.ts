import { listen, type Subscription, SubscriptionsNotSupported, watch } from 'mcp-listen/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type SessionScript, sessionScript } from '../../host/sessions/script.ts';
import { sdkSessions } from '../../host/sessions/sdk.ts';
import { served } from './serving.ts';

const FILTER = { toolsListChanged: true, resourceSubscriptions: ['note://a'] };
const TOOLS = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
const UPDATED =
  '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"note://a"}}';

async function events(subscription: Subscription, most: number): Promise<string[]> {
  const kinds: string[] = [];
  for await (const event of subscription) {
    kinds.push(event.kind);
    if (kinds.length === most) break;
  }
  return kinds;
}

async function scripted(script: SessionScript) {
  const server = await sessionScript(script);
  onTestFinished(() => server.stop());
  return server;
}

describe('a session behind the same API', () => {
  test('opens with this server, receives changes, and ends on close', async () => {
    const host = await served({ legacy: 'sessions' });
    onTestFinished(() => host.stop());
    const subscription = await listen(host.url, FILTER, { revision: '2025' });
    expect(subscription.revision).toBe('2025-11-25');
    expect(subscription.honored).toEqual(FILTER);
    expect(subscription.id).toBe('');
    await host.server.notify.resourceUpdated('note://a');
    expect(await events(subscription, 1)).toEqual(['resource_updated']);
    await expect.poll(() => host.bus.attached).toBe(0);
  });

  test('opens with the official SDK of 2025 after trying 2026-07-28', async () => {
    const sdk = await sdkSessions();
    onTestFinished(() => sdk.stop());
    const subscription = await listen(sdk.url, FILTER);
    expect(subscription.revision).toBe('2025-11-25');
    expect(subscription.honored).toEqual(FILTER);
    await sdk.update('note://a');
    expect(await events(subscription, 1)).toEqual(['resource_updated']);
    await expect.poll(() => sdk.sessions()).toBe(0);
  });

  test('sends its requests in order, and a DELETE on close', async () => {
    const { url, seen } = await scripted({ stream: (turn) => turn.begin() });
    const subscription = await listen(url, FILTER);
    await subscription.close();
    await expect
      .poll(() => seen)
      .toEqual([
        'POST server/discover',
        'POST initialize',
        'POST notifications/initialized',
        'GET',
        'POST resources/subscribe',
        'DELETE',
      ]);
  });
});

describe('the stream of a session', () => {
  test('resumes from the last event after the retry interval of the server', async () => {
    const { url, seen } = await scripted({
      stream: (turn, count) => {
        if (count === 1) turn.begin().response.end(`retry: 200\nid: e-1\ndata: ${TOOLS}\n\n`);
        else turn.begin().response.write(`id: e-2\ndata: ${UPDATED}\n\n`);
      },
    });
    const started = performance.now();
    const subscription = await listen(url, FILTER);
    expect(await events(subscription, 2)).toEqual(['tools_list_changed', 'resource_updated']);
    expect(performance.now() - started).toBeGreaterThan(195);
    expect(seen).toContain('GET e-1');
  });

  test('resyncs where its events have no ids', async () => {
    const { url } = await scripted({
      stream: (turn, count) => {
        turn.begin().response.write('retry: 10\n\n');
        if (count === 1) setTimeout(() => turn.drop(), 100);
      },
    });
    const subscription = await listen(url, FILTER);
    expect(await events(subscription, 2)).toEqual(['tools_list_changed', 'resource_updated']);
  });

  test('responds to pings of the server, and refuses its other requests', async () => {
    const responses: string[] = [];
    const { url } = await scripted({
      stream: (turn) => {
        turn
          .begin()
          .say('{"jsonrpc":"2.0","id":7,"method":"ping"}')
          .say('{"jsonrpc":"2.0","id":8,"method":"roots/list"}');
      },
    });
    const subscription = await listen(url, FILTER, {
      onMessage: ({ direction, text }) =>
        direction === 'out' && !text.includes('"method"') && responses.push(text),
    });
    onTestFinished(() => subscription.close());
    await expect
      .poll(() => responses)
      .toEqual([
        '{"jsonrpc":"2.0","id":7,"result":{}}',
        '{"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"method not found"}}',
      ]);
  });

  test('leaves out a resource that the server refuses', async () => {
    const { url } = await scripted({ stream: (turn) => turn.begin(), refused: ['note://a'] });
    const subscription = await listen(url, FILTER);
    onTestFinished(() => subscription.close());
    expect(subscription.honored).toEqual({ toolsListChanged: true });
  });
});

describe('where a session has no stream', () => {
  test('listen rejects with SubscriptionsNotSupported', async () => {
    const { url } = await scripted({ stream: (turn) => turn.refuse(405) });
    await expect(listen(url, FILTER)).rejects.toBeInstanceOf(SubscriptionsNotSupported);
  });

  test('since the server announces nothing, the subscription ends at once', async () => {
    const { url, seen } = await scripted({ stream: (turn) => turn.begin(), capabilities: {} });
    const subscription = await listen(url, FILTER);
    expect(subscription.honored).toEqual({});
    expect(await events(subscription, 1)).toEqual([]);
    await expect.poll(() => seen.at(-1)).toBe('DELETE');
    expect(seen).not.toContain('GET');
  });

  test('any more, a watch begins another session', async () => {
    let reads = 0;
    const { url, seen } = await scripted({
      stream: (turn, count) => {
        if (count === 2) return turn.refuse(404);
        turn.begin().response.write('retry: 10\n\n');
        return count === 1 && setTimeout(() => turn.drop(), 100);
      },
    });
    const watched = watch(url, FILTER, () => {
      reads += 1;
    });
    onTestFinished(() => watched.close());
    await expect.poll(() => watched.reconnects).toBe(1);
    expect(reads).toBe(2);
    expect(seen.filter((line) => line === 'POST initialize')).toHaveLength(2);
    expect(seen.filter((line) => line === 'POST server/discover')).toHaveLength(1);
  });
});
