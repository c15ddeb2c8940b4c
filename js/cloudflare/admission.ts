import { wholeBody } from '../answer.js';
import type { Denial } from '../authorize.js';
import { discovering } from '../discover.js';
import { ListenError } from '../error.js';
import type { Principal } from '../principal.js';
import type { Asked } from '../question.js';
import { initializeRequest, isUnknownAnswer, raisedAnswer } from '../wasm.js';
import { type Behind, isDenial } from './behind.js';

/**
 * Admits and names callers whom the server behind serves: it is asked what it is, with the caller's credentials, by
 * `server/discover`, and where it does not speak that by `initialize`. Only a result is a yes.
 *
 * @param isUnknownEnough - an error that says that there is no such method or revision is a yes, too.
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
 * Begins a session, which the server judges itself, or is refused: a listen is of 2026-07-28, and everything else that is
 * answered here has a session.
 */
function opensNothing({ headers, method }: Request): boolean {
  const version = headers.get('mcp-protocol-version') ?? '2025';
  return method === 'POST' && !headers.has('mcp-session-id') && /^202[45](-\d\d-\d\d)?$/.test(version);
}

/** Why the caller is not served; undefined: it is. */
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

/** Whether it is a result with capabilities: errors come with 200, too. */
function isResult({ ok }: Response, body: Uint8Array): boolean {
  return ok && raisedAnswer(body) !== undefined;
}

function initializing(): Asked {
  const headers = 'content-type: application/json\naccept: application/json, text/event-stream';
  return { headers, body: initializeRequest() };
}

/** Who was admitted a moment ago; a no is never remembered. */
class Admitted {
  /** Until when, by the digests of requests; the oldest come first. */
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

/** Milliseconds for which a yes holds. */
const ADMITTED_MS = 5_000;
const MOST_ADMITTED = 1_000;
