import { SubscriptionLost } from '../../model/client-error.js';
import { CoreLife } from '../instance-guard.js';

/** The lives of the core of a client. */
export const clientLife = new CoreLife((message, cause) => new SubscriptionLost('core-trapped', message, { cause }));
