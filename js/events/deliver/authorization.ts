import { ListenError } from '../../model/error.js';
import { isText } from '../../model/json.js';

/** Whether a caller may still receive what it subscribed to. */
export interface WebhookAuthorization {
  /** Undefined if that could not be found out. */
  isAllowed: boolean | undefined;
  /** Undefined if its groups are the same as before. */
  groups?: readonly string[];
}

/**
 * Reads the result of `webhooks.authorize`.
 *
 * @throws ListenError `authorizer-failed`.
 */
export function authorizationOf(result: unknown): WebhookAuthorization {
  if (typeof result !== 'object' || result === null) return { isAllowed: result === true };
  const { groups } = result as { groups?: unknown };
  if (isListOfNames(groups)) return { isAllowed: true, groups };
  throw invalidGroups();
}

/** The error of an `authorize` that returned anything but names. */
export function invalidGroups(): ListenError {
  return new ListenError('authorizer-failed', 'authorize returned groups that are not names');
}

function isListOfNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isText);
}
