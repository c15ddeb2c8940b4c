import type { SubscriptionBus } from 'mcp-listen/cloudflare';
import { z } from 'zod';
import { bears, unauthorized } from './bearer.js';

/**
 * Answers `POST /publish`: one event or an array of them, published together or not at all, by whoever bears the
 * secret. `{ "position": n }` is where in the bus's log the last one stands. Without a secret nobody may publish.
 */
export async function publishing(
  request: Request,
  secret: string | undefined,
  bus: () => DurableObjectStub<SubscriptionBus>,
): Promise<Response> {
  if (request.method !== 'POST') return refusal(405, 'post-only', { Allow: 'POST' });
  if (!secret) return refusal(403, 'publishing-is-off');
  if (!(await bears(request, secret))) return unauthorized();
  const events = eventsOf(await limitedText(request));
  if (events === undefined) return refusal(400, 'malformed-events');
  try {
    return Response.json({ position: await bus().publishAll(events) });
  } catch {
    // What was sent is well-formed, so it is the bus that has trouble.
    return refusal(503, 'bus-unavailable', { 'Retry-After': '1' });
  }
}

/** The events as the bus takes them; undefined where one is none. */
function eventsOf(text: string | undefined): string[] | undefined {
  try {
    const events = EVENTS.parse(JSON.parse(text ?? ''));
    return [events].flat().map((event) => JSON.stringify(event));
  } catch {
    return undefined;
  }
}

/** The body, unless it is longer than it may be. */
async function limitedText(request: Request): Promise<string | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BYTES) return undefined;
  const body = await request.arrayBuffer();
  return body.byteLength > MAX_BYTES ? undefined : new TextDecoder().decode(body);
}

function refusal(status: number, error: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error }, { status, headers });
}

const MAX_BYTES = 262_144;

// As the core has it: 1 to 2,048 bytes without control characters.
const URI = z.string().refine((uri) => /^\P{Cc}+$/u.test(uri) && new TextEncoder().encode(uri).length <= 2_048);

const EVENT = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['tools_list_changed', 'prompts_list_changed', 'resources_list_changed']) }),
  z.strictObject({ kind: z.literal('resource_updated'), uri: URI }),
]);
const EVENTS = z.union([EVENT, z.array(EVENT).min(1).max(1_000)]);
