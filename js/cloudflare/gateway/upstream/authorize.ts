import type { Authorize } from '../../../auth/authorize.js';
import { askingUpstream } from '../../../auth/outage.js';
import { bodyUntil } from '../../../handler/upstream-response.js';
import { ListenError } from '../../../model/error.js';
import type { SubscriptionFilter } from '../../../model/filter.js';
import { ProbeQuestion, probed, questionOf } from '../../../wasm/server/bindings.js';
import { isDenial, type UpstreamServer } from './server.js';

/**
 * Creates an `authorize` that allows a caller what the upstream server acknowledges for it. It
 * opens `subscriptions/listen` there with the filter and the credentials of the caller, and closes
 * it after the acknowledgment. If the server does not support subscriptions, it allows nothing.
 */
export function upstreamAuthorize(
  server: UpstreamServer,
  onError: (error: Error) => void,
): Authorize {
  return askingUpstream<Authorize>(async ({ request, requested }) => {
    const text = JSON.stringify(requested);
    if (text === '{}') return {};
    const response = await server.send(request, questionOf(ProbeQuestion.Listen, text));
    if (isDenial(response)) return response;
    const { bytes, found } = await bodyUntil(
      response,
      server.limits,
      (bytes) => probed(bytes).acknowledged,
    );
    if (response.ok && found !== undefined) return JSON.parse(found) as SubscriptionFilter;
    const { isOverLimit, isUnknown } = probed(bytes);
    if (isOverLimit || (response.ok && !isUnknown))
      throw new ListenError(
        'discover-failed',
        'the upstream server did not acknowledge a subscription',
      );
    onError(
      new ListenError(
        'discover-failed',
        'the upstream server supports no subscriptions, so nothing is honored: see rights',
      ),
    );
    return {};
  });
}
