import type { Order } from 'mcp-listen';
import { bearer } from './mcp/access/access.js';
import { record, text } from './mcp/json.js';

/** What an order has done: the position of the last event, or the isolates that began a drain. */
export interface Done {
  /** Undefined on a bus without positions. */
  position?: number;
  isolates?: string[];
}

/**
 * Sends an order to the server of this page.
 *
 * @throws Error with a message for the user.
 */
export async function sendOrder(order: Order, token: string): Promise<Done> {
  const headers = { 'content-type': 'application/json', ...bearer(token) };
  const body = JSON.stringify(order);
  const response = await fetch('./operate', { method: 'POST', headers, body }).catch(() => {
    throw new Error('The server does not respond.');
  });
  const result = record(await response.json().catch(() => undefined)) ?? {};
  if (response.ok) return result as Done;
  const why = text(result['message']) ?? text(result['error']) ?? 'no reason is given';
  throw new Error(`${REFUSED[response.status] ?? `Refused: ${why}`} (${response.status}).`);
}

const REFUSED: Partial<Record<number, string>> = {
  401: 'The secret is missing or wrong',
  404: 'This server cannot be operated: it has no token for operators',
};
