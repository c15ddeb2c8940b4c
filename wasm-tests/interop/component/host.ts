import type { Case, CaseResponse } from '../../host/corpus/corpus.ts';
import type { WrittenOptions } from '../../host/options.ts';

/** A request for a component, as one line of JSON: what a host of any language plays. */
export interface Play {
  method: string;
  url: string;
  headers: [string, string][];
  /** Base64. */
  body: string;
  origins: string[];
  hosts: string[] | null;
  /** JSON text for `service-options`. */
  limits: string | null;
  legacy: 'reject' | 'stateless';
  /** MCP's `ServerCapabilities` as JSON text. */
  capabilities: string;
  /** The name of the caller, or how it is refused. */
  caller: string | null | { refused: 'unauthorized' | 'forbidden' | 'authorizer-failed' };
}

/** What a host made of it; without a status the request was passed on. */
export interface Played {
  status: number | null;
  headers: [string, string][];
  text: string;
}

/** A program that holds an instance of the component. */
export interface ComponentHost {
  play(play: Play): Promise<Played>;
  close(): Promise<void> | void;
}

/** The request of a case. */
export function playOf({ body, headers, method, options, url }: Case): Play {
  const written = options as WrittenOptions;
  const { maxRequestBodySize: bodyBytes, ...bounds } = written.limits ?? {};
  const server = written.server as { capabilities?: object } | undefined;
  return {
    method,
    url,
    headers,
    body: body.toString('base64'),
    origins: [...(written.allowedOrigins ?? [])],
    hosts: written.allowedHosts === undefined ? null : [...written.allowedHosts],
    limits: written.limits === undefined ? null : JSON.stringify({ ...bounds, bodyBytes }),
    legacy: written.legacy === 'reject' ? 'reject' : 'stateless',
    capabilities: JSON.stringify(server?.capabilities ?? EVERYTHING),
    caller: callerOf(written.principal),
  };
}

/** The response as that of other hosts; what is passed on is passed unchanged. */
export function responseOf(wanted: Case, played: Played): CaseResponse {
  const headers = new Headers(played.headers);
  const { dropped = [] } = wanted.expect;
  const kept = wanted.headers.filter(([name]) => !dropped.includes(name));
  const passed = {
    method: wanted.method,
    headers: Object.fromEntries(kept.map(([name, value]) => [name.toLowerCase(), value])),
    body: wanted.body,
  };
  const { status, text } = played;
  return { status: status ?? 200, headers, text, passed: status === null ? passed : undefined };
}

function callerOf(principal: WrittenOptions['principal']): Play['caller'] {
  if (principal === undefined || principal === null || typeof principal === 'string')
    return principal ?? null;
  if ('throws' in principal) return { refused: 'authorizer-failed' };
  const denied = 'denied' in principal ? principal.denied : 403;
  return { refused: denied === 401 ? 'unauthorized' : 'forbidden' };
}

const EVERYTHING = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
};
