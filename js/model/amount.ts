import { ListenError } from './error.js';

/**
 * Checks that each given amount, such as a count, bytes or milliseconds, is a number from 0. Undefined is not checked.
 *
 * @throws ListenError `invalid-options`, which names the amount by its `place` in the options.
 */
export function expectAmounts(place: string, amounts: object): void {
  for (const [name, amount] of Object.entries(amounts)) {
    if (amount === undefined || (typeof amount === 'number' && amount >= 0)) continue;
    throw new ListenError('invalid-options', `${place}.${name} is not a number from 0`);
  }
}
