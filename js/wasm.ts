import * as core from '../pkg/mcp_listen.js';
import { serverLife } from './trap.js';

// No module is loaded here: each entry does that in its own way, before anything of this is called.
export * from '../pkg/mcp_listen.js';

// The methods of classes are watched where the core is loaded; constructors and functions cannot be changed in place.
export const acknowledgedFilter = serverLife.noticing(core.acknowledgedFilter);
export const answersQuestion = serverLife.noticing(core.answersQuestion);
export const areRepeatable = serverLife.noticing(core.areRepeatable);
export const detachMessage = serverLife.noticing(core.detachMessage);
export const discoverHeaders = serverLife.noticing(core.discoverHeaders);
export const discoverRequest = serverLife.noticing(core.discoverRequest);
export const eventsIn = serverLife.noticing(core.eventsIn);
export const followEverything = serverLife.noticing(core.followEverything);
export const initializeRequest = serverLife.noticing(core.initializeRequest);
export const isUnknownAnswer = serverLife.noticing(core.isUnknownAnswer);
export const listenHeaders = serverLife.noticing(core.listenHeaders);
export const listenRequest = serverLife.noticing(core.listenRequest);
export const listsOf = serverLife.noticing(core.listsOf);
export const normalizeEvent = serverLife.noticing(core.normalizeEvent);
export const offersSubscribe = serverLife.noticing(core.offersSubscribe);
export const posted = serverLife.noticing(core.posted);
export const packageVersion = serverLife.noticing(core.packageVersion);
export const questionLine = serverLife.noticing(core.questionLine);
export const raisedAnswer = serverLife.noticing(core.raisedAnswer);
export const refusalOf = serverLife.noticing(core.refusalOf);
export const sessionChanged = serverLife.noticing(core.sessionChanged);
export const sessionReleased = serverLife.noticing(core.sessionReleased);
export const sessionStream = serverLife.noticing(core.sessionStream);
export const withheldAnswer = serverLife.noticing(core.withheldAnswer);

export const Channel = serverLife.made(core.Channel);
export type Channel = core.Channel;
export const Fanout = serverLife.made(core.Fanout);
export type Fanout = core.Fanout;
export const Bus = serverLife.made(core.Bus);
export type Bus = core.Bus;
export const Listener = serverLife.made(core.Listener);
export type Listener = core.Listener;
export const Service = serverLife.made(core.Service);
export type Service = core.Service;
export const Shard = serverLife.made(core.Shard);
export type Shard = core.Shard;
export const Tally = serverLife.made(core.Tally);
export type Tally = core.Tally;
