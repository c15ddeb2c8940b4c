import { discoverQuestion } from '../discover.js';
import { ListenError } from '../error.js';
import type { FetchHandler } from '../handler.js';
import type { Principal } from '../principal.js';
import { discoverHeaders } from '../wasm.js';

/**
 * Lets those listen whom the server behind answers: it is asked what it is, with the caller's credentials, before a
 * stream is opened. What it is told in a session that is open already it judges itself.
 */
export function admittedBy(handler: FetchHandler): Principal {
  const fields = discoverHeaders().split('\n');
  return async (request) => {
    const { headers, method } = request;
    const isListen = fields.includes(`mcp-protocol-version: ${headers.get('mcp-protocol-version')}`);
    if (method === 'DELETE' || (method === 'POST' && !isListen && headers.has('mcp-session-id'))) return undefined;
    const answer = await handler(discoverQuestion(request));
    await answer.body?.cancel();
    const { status } = answer;
    if (status >= 500) throw new ListenError('discover-failed', `the server behind answered ${status}`);
    if (status !== 401 && status !== 403) return undefined;
    const wwwAuthenticate = answer.headers.get('www-authenticate');
    return { denied: status, ...(wwwAuthenticate !== null && { wwwAuthenticate }) };
  };
}
