import { wholeBody } from '../answer.js';
import type { Denial } from '../authorize.js';
import { discovering } from '../discover.js';
import { ListenError } from '../error.js';
import type { Principal } from '../principal.js';
import type { Asked } from '../question.js';
import { initializeRequest, isUnknownAnswer, raisedAnswer } from '../wasm.js';
import { type Behind, isDenial } from './behind.js';

/**
 * Makes a `principal` that admits and names the callers that the server behind serves. It sends
 * `server/discover` with the credentials of the caller, and `initialize` to a server that does not
 * know that method. Only a result admits.
 *
 * @param isUnknownEnough - an error "no such method or revision" admits, too.
 */
export function admittedBy(behind: Behind, isUnknownEnough: boolean): Principal {
  const admitted = new Admitted();
  return async (request) => {
    const name = await behind.credentials.nameOf(request);
    const key = await behind.credentials.digestOf(request);
    if (opensNothing(request) || admitted.has(key)) return name;
    const denial = await denialOf(behind, request, isUnknownEnough);
    if (denial !== undefined) return denial;
    admitted.add(key);
    return name;
  };
}

/**
 * Whether a request is an `initialize`, which is forwarded and so judged by the server itself, or one
 * that is refused. Listens name the revision 2026-07-28, and other requests that are answered here
 * name a session.
 */
function opensNothing({ headers, method }: Request): boolean {
  const version = headers.get('mcp-protocol-version') ?? '2025';
  return method === 'POST' && !headers.has('mcp-session-id') && /^202[45](-\d\d-\d\d)?$/.test(version);
}

/** Returns why the caller is not served; undefined: it is. */
async function denialOf(behind: Behind, request: Request, isUnknownEnough: boolean): Promise<Denial | undefined> {
  const discovered = await behind.ask(request, discovering());
  if (isDenial(discovered)) return discovered;
  const body = await wholeBody(discovered, behind.limits);
  if (isResult(discovered, body) || (isUnknownEnough && isUnknownAnswer(body))) return undefined;
  const initialized = await behind.ask(request, initializing());
  if (isDenial(initialized)) return initialized;
  const isServed = isResult(initialized, await wholeBody(initialized, behind.limits));
  const session = initialized.headers.get('mcp-session-id');
  if (session !== null) await behind.leave(request, session);
  if (isServed) return undefined;
  throw new ListenError('discover-failed', 'the server behind answers neither server/discover nor initialize');
}

/** Whether an answer is a result with capabilities; errors come with 200, too. */
function isResult({ ok }: Response, body: Uint8Array): boolean {
  return ok && raisedAnswer(body) !== undefined;
}

function initializing(): Asked {
  const headers = 'content-type: application/json\naccept: application/json, text/event-stream';
  return { headers, body: initializeRequest() };
}

/** Callers that were admitted a moment ago; refusals are not remembered. */
class Admitted {
  /** The time until which each is admitted, by the digests of requests, oldest first. */
  readonly #until = new Map<string, number>();

  has(key: string): boolean {
    return (this.#until.get(key) ?? 0) > Date.now();
  }

  add(key: string): void {
    this.#until.delete(key);
    this.#until.set(key, Date.now() + ADMITTED_MS);
    const [oldest] = this.#until.keys();
    if (this.#until.size > MOST_ADMITTED && oldest !== undefined) this.#until.delete(oldest);
  }
}

/** Milliseconds for which an admission holds. */
const ADMITTED_MS = 5_000;
/** Admissions that are remembered at once. */
const MOST_ADMITTED = 1_000;
