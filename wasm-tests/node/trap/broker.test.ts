import { brokerBus, type ListenError } from 'mcp-listen';
import { afterEach, expect, test, vi } from 'vitest';
import { Bus } from '../../../dist/wasm/server/bindings.js';
import { poison } from '../../host/poison.ts';
import { LoopBroker } from '../bus/loop-broker.ts';
import { open, serving, TOOLS } from '../serving.ts';
import { failOnUnhandled } from '../stdio/serving.ts';

failOnUnhandled();

const CHANGED = '{"kind":"tools_list_changed"}';

afterEach(() => void vi.restoreAllMocks());

test('a broker does not get the trap of a delivery, which the bus reports', async () => {
  const broker = new LoopBroker();
  const errors: Error[] = [];
  const bus = brokerBus(broker, { onError: (error) => errors.push(error) });
  const kinds: string[] = [];
  bus.subscribe(({ kind }) => kinds.push(kind));
  await bus.ready();
  const { publish } = Bus.prototype;
  vi.spyOn(Bus.prototype, 'publish').mockImplementationOnce(function (this: Bus, ...args) {
    poison();
    return publish.apply(this, args);
  });
  broker.listener?.onEvents(CHANGED);
  expect(errors.map((error) => (error as ListenError).code)).toEqual(['core-trapped']);
  broker.listener?.onEvents(CHANGED);
  expect(kinds).toContain('tools_list_changed');
  await bus.close();
});

test('a server closes though the core traps while its bus cannot settle', async () => {
  const broker = Object.assign(new LoopBroker(), {
    settle: () => {
      poison();
      return Promise.reject(new Error('the broker is away'));
    },
  });
  const bus = brokerBus(broker, { onError: () => {} });
  const server = serving({ bus, onError: () => {} });
  const stream = await open(server, TOOLS);
  await stream.message();
  await server.close();
  expect(server.stats()).toMatchObject({ open: 0 });
  expect(await stream.message()).toBeUndefined();
  await bus.close();
});
