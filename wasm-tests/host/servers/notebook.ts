import { workerBundle } from '../../../scripts/build/build.mjs';
import { variablesOf } from '../../../scripts/start/variables.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { OPERATOR, SECRET } from '../signing.ts';

/** Serves the notebook as `npm start` does, on a port; 0 selects a free one. */
export function startNotebook(port: number): Promise<Workerd> {
  return startWorkerd({
    bundle: workerBundle,
    port,
    text: variablesOf({ publish: SECRET, operator: OPERATOR }),
    reachesLocal: true,
  });
}

/** The URL of the console of a notebook, with the token of operators. */
export function consoleOf(origin: string): string {
  return `${origin}/#token=${OPERATOR}`;
}
