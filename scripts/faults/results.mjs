import { join } from 'node:path';
import { root } from '../process/project.mjs';

/** Whether all faults are wanted, and not only those of `npm test`. */
export const isWhole = process.env['FAULTS'] === 'all';

/** Where a run of the faults leaves what became of each. */
export const resultsFile = join(root, '.build', 'faults', 'results.json');
