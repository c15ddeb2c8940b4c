import { beforeAll, expect, test } from 'vitest';
import { bundleWorker } from '../host/bundle.ts';
import { punctual } from './late.ts';
import { scenario } from './suite.ts';
import { type Sockets, serveBundle } from './worker.ts';

let bundle: string;

beforeAll(async () => {
  bundle = await bundleWorker('wasm-tests/conformance/fixture');
});

// The suite reads a listen for 0.8 to 1.5 seconds from the request on, in which the first one also
// wakes the bus.
test.each<[scenario: string, checks: number, sockets: Sockets]>([
  ['server-stateless', 30, 'auto'],
  ['server-stateless', 30, 'each'],
  ['http-header-validation', 14, 'auto'],
])(
  '%s passes all of its %i checks on a bus that has never run (sockets: %s)',
  async (name, count, sockets) => {
    const { checks, verdict } = await punctual(
      () => serveBundle(bundle, sockets),
      (url, pid) => scenario(url, name, '2026-07-28', pid),
    );
    const all = checks.get(name) ?? [];
    expect(all.filter(({ status }) => status !== 'SUCCESS')).toEqual([]);
    expect(all).toHaveLength(count);
    expect(verdict).toBe('passed');
  },
);
