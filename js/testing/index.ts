/**
 * Tests of what every bus promises, to check a custom bus with any test framework.
 *
 * @packageDocumentation
 */
import '#runtime';

export { type BusFaults, type BusTest, busTests } from './bus-tests.js';
