import { expect } from 'vitest';
import { endpoint } from '../../../host/endpoint.ts';
import { HOOK_SECRET } from '../../../host/webhook.ts';
import type { Differences } from './check.ts';
import { serving } from './serving.ts';

/** Where this server follows the final protocol, or its clients, rather than the checks. */
export const DIFFERS: Differences = {
  'sep-9999-stream-final-result-shape': {
    reason: 'every result of 2026-07-28 has a resultType, this one too',
    test: async () => {
      const { handler, stream } = serving();
      const reader = await stream();
      await reader.next();
      await handler.disconnect('ada');
      await reader.next();
      expect(await reader.next()).toEqual({
        ...{ jsonrpc: '2.0', id: 1 },
        result: {
          resultType: 'complete',
          _meta: { 'io.modelcontextprotocol/subscriptionId': 1 },
        },
      });
    },
  },

  'sep-9999-stream-final-result-timing': {
    reason: 'only a subscription that has ended gets its result; others are resumed by cursor',
    test: async () => {
      const { handler, stream } = serving();
      const reader = await stream();
      await reader.next();
      await handler.close();
      expect(await reader.next()).toBeUndefined();
    },
  },

  'sep-9999-unsubscribe-unknown-not-found': {
    reason: 'clients that do not declare the extension expect that unsubscribing is idempotent',
    test: async () => {
      const hook = await endpoint(HOOK_SECRET);
      for (const codes of ['declared', 'sep'] as const) {
        const { unsubscribe } = serving({ events: { codes } });
        const response = await unsubscribe(hook.url);
        if (codes === 'declared') expect(response.result).toEqual({ resultType: 'complete' });
        else
          expect(response.error).toMatchObject({ code: -32_023, data: { kind: 'subscription' } });
      }
    },
  },
};
