/**
 * Returns the name of a subscription from its number, counted from 0: A to Z, then AA, AB and so
 * on.
 */
export function nameOf(number: number): string {
  const last = String.fromCharCode(FIRST + (number % LETTERS));
  return number < LETTERS ? last : nameOf(Math.floor(number / LETTERS) - 1) + last;
}

/** Returns the number of a subscription from its name. */
export function numberOf(name: string): number {
  const digits = [...name].map((letter) => letter.charCodeAt(0) - FIRST + 1);
  return digits.reduce((number, digit) => number * LETTERS + digit, 0) - 1;
}

const FIRST = 'A'.charCodeAt(0);
const LETTERS = 26;
