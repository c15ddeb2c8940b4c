import * as core from '../../../pkg/client/mcp_listen_client.js';
import { clientGuard } from './guard.js';

export {
  type ClientAction,
  type ClientOutput,
  ClientWatch,
  ServerHint,
} from '../../../pkg/client/mcp_listen_client.js';

export const normalizeFilter = repeated(core.normalizeFilter);
export const eventsOfFilter = repeated(core.eventsOfFilter);

/** Repeats a call that keeps no state in the core if the core traps. */
function repeated<Result>(call: (text: string) => Result): (text: string) => Result {
  return (text) => {
    try {
      return call(text);
    } catch (error) {
      if (!clientGuard.isTrapError(error)) throw error;
      return call(text);
    }
  };
}
