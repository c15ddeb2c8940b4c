import { CoreLife } from '../core-life.js';
import { SubscriptionLost } from './error.js';

/** The lives of the core of a client. */
export const clientLife = new CoreLife((message, cause) => new SubscriptionLost('core-trapped', message, { cause }));
