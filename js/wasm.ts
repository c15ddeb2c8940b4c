import * as core from '../pkg/mcp_listen.js';
import { noticing } from './trap.js';

// No module is loaded here: each entry does that in its own way, before anything of this is called.
export * from '../pkg/mcp_listen.js';

// Classes are watched where the core is loaded; functions cannot be changed in place.
export const attachMessage = noticing(core.attachMessage);
export const attachedMessage = noticing(core.attachedMessage);
export const detachMessage = noticing(core.detachMessage);
export const discoverHeaders = noticing(core.discoverHeaders);
export const discoverRequest = noticing(core.discoverRequest);
export const eventIn = noticing(core.eventIn);
export const eventMessage = noticing(core.eventMessage);
export const listsOf = noticing(core.listsOf);
export const normalizeEvent = noticing(core.normalizeEvent);
export const offersSubscribe = noticing(core.offersSubscribe);
export const raisedAnswer = noticing(core.raisedAnswer);
export const sessionChanged = noticing(core.sessionChanged);
export const sessionReleased = noticing(core.sessionReleased);
