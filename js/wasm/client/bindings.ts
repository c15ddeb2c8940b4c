import * as core from '../../../pkg/client/mcp_listen_client.js';
import { clientGuard } from './guard.js';

export {
  ClientApproach,
  type ClientNews,
  type ClientTransfer,
  ClientWatch,
} from '../../../pkg/client/mcp_listen_client.js';

export const normalizeFilter = repeated(core.normalizeFilter);
export const subjectsOf = repeated(core.subjectsOf);

/** What keeps nothing in the core is asked once more where that has trapped. */
function repeated<Answer>(call: (text: string) => Answer): (text: string) => Answer {
  return (text) => {
    try {
      return call(text);
    } catch (error) {
      if (!clientGuard.isTrapError(error)) throw error;
      return call(text);
    }
  };
}
