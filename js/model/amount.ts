import { ListenError } from './error.js';

/**
 * Checks that each amount (a count, bytes or milliseconds) is a number from 0 and has one of the
 * `names`. Undefined amounts are not checked.
 *
 * @throws ListenError `invalid-options`; the message names the amount by its `path` in the
 *   options.
 */
export function expectAmounts(path: string, amounts: object, names = Object.keys(amounts)): void {
  for (const [name, amount] of Object.entries(amounts)) {
    const at = path === '' ? name : `${path}.${name}`;
    if (!names.includes(name)) throw new ListenError('invalid-options', `unknown option ${at}`);
    if (amount === undefined || (typeof amount === 'number' && amount >= 0)) continue;
    throw new ListenError('invalid-options', `${at} must be a number of at least 0`);
  }
}

/** The largest count that the core accepts. */
export const MAX_COUNT = 2 ** 32 - 1;
