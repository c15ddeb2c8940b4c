/** What other rooms import of the streams. */
export { eachWrite, FanoutBodies, type StreamBodies } from './bodies/fanout-bodies.js';
export { type BodySource, ListenBody } from './bodies/listen-body.js';
export { OwnBodies } from './bodies/own-bodies.js';
export { type ChunkSink, NO_QUEUE, ResponseBody, sseResponse } from './bodies/response-body.js';
export type { Member } from './connection/member.js';
export { type OwnConnectionOptions, OwnConnections } from './connection/own-connections.js';
export { SharedConnection } from './connection/shared-connection.js';
export { UpstreamCounters } from './connection/upstream-counters.js';
export type { FanoutStream } from './fanout/stream.js';
export { StreamManager } from './manager.js';
export type { InnerStreamOptions } from './opening/inner-stream.js';
