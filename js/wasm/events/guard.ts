import { ListenError } from '../../model/error.js';
import { InstanceGuard } from '../instance-guard.js';

/** Guards the core of MCP Events. */
export const eventsGuard = new InstanceGuard(
  (message, cause) => new ListenError('core-trapped', message, { cause }),
);
