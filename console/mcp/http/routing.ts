import { text } from '../json.js';

/**
 * Returns the header fields that repeat the method of a request of 2026-07-28, and what it names
 * (Transports, Standard Request Headers).
 */
export function routingOf(method: string, params: Record<string, unknown>): Record<string, string> {
  const source = NAMED_BY[method];
  const name = source === undefined ? undefined : text(params[source]);
  return { 'Mcp-Method': method, ...(name !== undefined && { 'Mcp-Name': headerValue(name) }) };
}

/** Encodes a value that a header field cannot contain as it is. */
function headerValue(value: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?'))
    return value;
  const bytes = String.fromCharCode(...new TextEncoder().encode(value));
  return `=?base64?${btoa(bytes)}?=`;
}

const NAMED_BY: Partial<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};
