import 'mcp-listen'; // loads the core
import { expect, onTestFinished, test, vi } from 'vitest';
import { createPublishHandler } from '../../../dist/cloudflare/publish/endpoint.js';
import { UnverifiedBodies } from '../../../dist/cloudflare/publish/unverified-bodies.js';
import type { BusNamespace } from '../../../dist/cloudflare/wire/stubs.js';
import { signedFields } from '../../host/signing.ts';

vi.mock('cloudflare:workers', () => ({ waitUntil: () => {} }));

const BODY = JSON.stringify({ kind: 'resource_updated', uri: 'note://todo' });

test('the body of a forged publish is copied once, however many publishers there are', async () => {
  const made = vi.fn();
  vi.stubGlobal(
    'Blob',
    class extends Blob {
      constructor(...args: ConstructorParameters<typeof Blob>) {
        super(...args);
        made();
      }
    },
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  const publishers = Array.from({ length: 50 }, (_, number) => ({
    secret: `a-secret-of-publisher-${number}`,
  }));
  const publish = createPublishHandler({} as BusNamespace, { publishers });
  const headers = signedFields({ body: BODY, secret: 'not-the-secret-of-any' });
  const init = { method: 'POST', headers, body: BODY };
  const request = new Request('https://bus.example/publish', init);
  expect((await publish(request)).status).toBe(401);
  expect(made).toHaveBeenCalledTimes(1);
});

test('at most 128 signed bodies are read at a time, 16 of one address', async () => {
  const bodies = new UnverifiedBodies(0);
  const abort = new AbortController();
  const read = vi.fn(
    () => new Promise<void>((resolve) => abort.signal.addEventListener('abort', () => resolve())),
  );
  const outcomes: Promise<unknown>[] = [];
  for (let address = 0; address < 10; address += 1)
    for (let turn = 0; turn < 17; turn += 1)
      outcomes.push(bodies.within(String(address), read).catch((error: Error) => error.message));
  expect(read).toHaveBeenCalledTimes(128);
  abort.abort();
  const refused = (await Promise.all(outcomes)).filter((outcome) => outcome !== undefined);
  expect(new Set(refused)).toEqual(new Set(['too-many-bodies']));
  expect(refused).toHaveLength(170 - 128);
  // All places are free again.
  await bodies.within('0', async () => {});
});
