import * as core from '../../pkg/client/mcp_listen_client.js';
import { clientLife } from './life.js';

// The methods of classes are watched where the core is loaded; constructors and functions cannot be changed in place.
export { ClientApproach, ClientNews } from '../../pkg/client/mcp_listen_client.js';

export const ClientListener = clientLife.made(core.ClientListener);
export type ClientListener = core.ClientListener;
export const ClientRenewal = clientLife.made(core.ClientRenewal);
export type ClientRenewal = core.ClientRenewal;

export const normalizeFilter = repeated(core.normalizeFilter);
export const subjectsOf = repeated(core.subjectsOf);

/** What keeps nothing in the core is asked once more where that has trapped. */
function repeated<Answer>(call: (text: string) => Answer): (text: string) => Answer {
  const watched = clientLife.noticing((text: string) => call(text));
  return (text) => {
    try {
      return watched(text);
    } catch (error) {
      if (!clientLife.isOfTrap(error)) throw error;
      return watched(text);
    }
  };
}
