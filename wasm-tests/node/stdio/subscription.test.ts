import { describe, expect, test, vi } from 'vitest';
import { acknowledged, listChanged, listenBody } from '../../host/listen.ts';
import { cancelLine, resultLine } from '../../host/stdio.ts';
import { fed } from '../bus/fed-bus.ts';
import { PlainBus } from '../bus/plain-bus.ts';
import { TOOLS } from '../serving.ts';
import { connected, failOnUnhandled, open } from './serving.ts';

failOnUnhandled();

describe('a subscription', () => {
  test('is refused in band where it cannot be served', async () => {
    const { lines, send } = connected({ limits: { maxSubscriptions: 1, lineBytes: 1_000 } });
    send(listenBody(null, '1'));
    expect(await lines.next()).toContain('"id":1,"error":{"code":-32602');
    send('x'.repeat(1_001));
    expect(await lines.next()).toMatch(/^\{"jsonrpc":"2.0","error":\{"code":-32600/);
    send(listenBody(TOOLS, '2'));
    expect(await lines.next()).toBe(acknowledged('2', TOOLS));
    send(listenBody(TOOLS, '2'));
    expect(await lines.next()).toContain('"id":2,"error":{"code":-32600');
    send(listenBody(TOOLS, '3'));
    expect(await lines.next()).toContain('"id":3,"error":{"code":-32603');
  });

  test('leaves its bus when it is cancelled', async () => {
    const connection = connected();
    await open(connection, '1');
    await open(connection, '"1"');
    expect(connection.bus.attached).toBe(2);
    connection.send(cancelLine('1'));
    await expect.poll(() => connection.bus.attached).toBe(1);
    await connection.server.notify.toolsChanged();
    expect(await connection.lines.next()).toBe(listChanged('"1"', 'tools'));
  });

  test('ends gracefully on close, after its pending cues', async () => {
    const connection = connected();
    await open(connection, '1');
    await connection.server.notify.toolsChanged();
    const closed = connection.server.close();
    expect(await connection.lines.next()).toBe(listChanged('1', 'tools'));
    expect(await connection.lines.next()).toBe(
      resultLine('1', { name: 'tests', version: '1.0.0' }),
    );
    await closed;
    expect(connection.bus.attached).toBe(0);
    await connection.server.close();
  });

  test('leaves its bus without output at the end of the input', async () => {
    const connection = connected();
    await open(connection, '1');
    connection.stdin.end();
    await expect.poll(() => connection.bus.attached).toBe(0);
    await connection.server.notify.toolsChanged();
    await connection.server.close();
    connection.stdout.end();
    expect(await connection.lines.next()).toBeUndefined();
    expect(connection.onError).not.toHaveBeenCalled();
  });
});

describe('the bus of a subscription', () => {
  test('closes: the subscription is cancelled, without a result', async () => {
    const { bus, feeds } = fed();
    const connection = connected({ bus });
    await open(connection, '1');
    feeds[0]?.release();
    expect(await connection.lines.next()).toBe(cancelLine('1'));
    expect(bus.attached).toBe(0);
    expect(connection.onError).not.toHaveBeenCalled();
  });

  test('may have lost events: a resync', async () => {
    const { bus, feeds } = fed();
    const connection = connected({ bus });
    await open(connection, '1');
    feeds[0]?.gap();
    expect(await connection.lines.next()).toBe(listChanged('1', 'tools'));
  });

  test('is not ready in time, or throws: the request is refused', async () => {
    const { bus } = fed();
    const ready = vi.fn(() => new Promise<void>(() => {}));
    const { lines, onError, send } = connected({
      bus: Object.assign(bus, { ready }),
      timeouts: { attachMs: 10 },
    });
    send(listenBody(TOOLS, '1'));
    expect(await lines.next()).toContain('"id":1,"error":{"code":-32603');
    expect(onError).toHaveBeenLastCalledWith(expect.objectContaining({ code: 'attach-timeout' }));
    ready.mockResolvedValue();
    vi.spyOn(bus, 'subscribeAll').mockImplementationOnce(() => {
      throw new Error('no bus');
    });
    send(listenBody(TOOLS, '1'));
    expect(await lines.next()).toContain('"id":1,"error":{"code":-32603');
    expect(bus.attached).toBe(0);
  });

  test('feeds open subscriptions while another request waits for it', async () => {
    const { bus } = fed();
    const ready = vi.fn(() => Promise.resolve());
    const connection = connected({
      bus: Object.assign(bus, { ready }),
      timeouts: { attachMs: 10 },
    });
    await open(connection, '1');
    ready.mockReturnValueOnce(new Promise(() => {}));
    connection.send(listenBody(TOOLS, '2'));
    expect(await connection.lines.next()).toContain('"id":2,"error":{"code":-32603');
    await connection.server.notify.toolsChanged();
    expect(await connection.lines.next()).toBe(listChanged('1', 'tools'));
  });

  test('may be one that was written for the SDK', async () => {
    const bus = new PlainBus();
    const connection = connected({ bus });
    await open(connection, '1');
    bus.publish({ kind: 'tools_list_changed' });
    expect(await connection.lines.next()).toBe(listChanged('1', 'tools'));
  });
});

describe('authorize', () => {
  const both = { toolsListChanged: true, promptsListChanged: true };

  test('narrows the filter', async () => {
    const { lines, send } = connected({
      authorize: ({ requested }) => ({ ...requested, promptsListChanged: false }),
    });
    send(listenBody(both, '1'));
    expect(await lines.next()).toBe(acknowledged('1', TOOLS));
  });

  test.each([401, 403] as const)('refuses with %s', async (denied) => {
    const { lines, send } = connected({ authorize: () => ({ denied }) });
    send(listenBody(both, '1'));
    expect(await lines.next()).toContain('"id":1,"error":{"code":-32600');
  });

  test('that throws is refused without details, also where onError throws', async () => {
    const authorize = () => Promise.reject(new Error('secret'));
    const onError = () => {
      throw new Error('onError throws too');
    };
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const { lines, send } = connected({ authorize, onError });
    send(listenBody(both, '1'));
    const line = await lines.next();
    expect(line).toContain('"id":1,"error":{"code":-32603');
    expect(line).not.toContain('secret');
  });

  test('that responds after a cancel opens nothing', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    const { bus, lines, send } = connected({ authorize: () => promise });
    send(listenBody(both, '1'));
    send(cancelLine('1'));
    send(listenBody(null, '2'));
    expect(await lines.next()).toContain('"id":2,"error"');
    resolve(both);
    await promise;
    expect(bus.attached).toBe(0);
  });
});
