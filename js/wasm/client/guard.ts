import { SubscriptionLost } from '../../model/subscription-error.js';
import { InstanceGuard } from '../instance-guard.js';

/** Guards the core of a client. */
export const clientGuard = new InstanceGuard(
  (message, cause) => new SubscriptionLost('core-trapped', message, { cause }),
);
