import { join } from 'node:path';
import { root } from '../process/project.mjs';

/** Whether all faults run, rather than only those of `npm test`. */
export const isWhole = process.env['FAULTS'] === 'all';

/** The files to which a run of the faults writes its results. */
const faults = join(root, '.build', 'faults');
export const faultResults = join(faults, 'results.json');
/** Only a whole run of the test of webhooks writes it, once it has passed. */
export const webhookResult = join(faults, 'webhooks.json');

/** The file to which the test of a bus under load in the console writes its result. */
export const operateResult = join(root, '.build', 'operate', 'result.json');

/** The file to which the test of idle streams writes its result. */
export const idleResult = join(root, '.build', 'idle', 'result.json');
