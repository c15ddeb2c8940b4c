import { OURS } from '../experiment.ts';
import { type Condition, shown } from './condition.ts';
import { cheaperThan, highest, own, ownOf, ratioOf, ratioTo, spread } from './figures.ts';

const AT_LEAST = { unit: 'x', bound: 'at least' } as const;
const AT_MOST = { unit: 'x', bound: 'at most' } as const;
const SDK = 'TypeScript SDK';
const LIMIT = 'enqueue only';
const RELAY = 'WebSocket relay, shared';
const MERGING_RELAY = 'WebSocket relay, a chunk a wave';
const HELD = 'object-held SSE';
const LOCAL = `${OURS}, in one isolate`;
const AROUND = `${OURS}, around the SDK`;
const NODE = `${OURS} on Node`;

/**
 * The conditions of each promise. Where an experiment measures processor time, it decides: on a
 * shared machine, times vary by half. Times decide where they are what is promised: the latency of
 * S6, and the rate of openings of S8, which has a condition about processor time too.
 */
export const PROMISES: Record<string, Condition[]> = {
  S1: [
    {
      ...AT_LEAST,
      what: 'dense fan-out, less processor time than the SDK',
      experiment: 'dense',
      goal: 9,
      value: cheaperThan(SDK),
    },
    {
      ...AT_MOST,
      what: 'processor time, of the limit',
      experiment: 'dense',
      goal: 1.3,
      value: ratioTo(LIMIT, 'cpu'),
    },
  ],
  S2: [
    {
      ...AT_LEAST,
      what: 'every id different, less processor time than the SDK',
      experiment: 'distinct-ids',
      goal: 5,
      value: cheaperThan(SDK),
    },
  ],
  S3: [
    {
      ...AT_LEAST,
      what: '1 % match, less processor time than the SDK',
      experiment: 'one-percent',
      goal: 25,
      value: cheaperThan(SDK),
    },
    shown('the limit, less processor time than the SDK', 'one-percent', cheaperThan(SDK, LIMIT)),
    {
      ...AT_MOST,
      what: 'what is added to the limit, most to fewest streams',
      experiment: 'targeted-by-streams',
      goal: 1.3,
      value: spread({ metric: 'cpu', beyond: LIMIT }),
    },
    shown('the limit, alike', 'targeted-by-streams', spread({ metric: 'cpu', of: LIMIT })),
    shown('the core alone, alike', 'core-targeted', spread({ metric: 'event' })),
  ],
  S4: [
    {
      ...AT_MOST,
      what: 'heap per idle stream, of a bare body',
      experiment: 'heap',
      goal: 1.1,
      value: ratioTo(LIMIT),
    },
  ],
  S5: [
    {
      ...AT_LEAST,
      what: 'frames on workerd, less processor time than the SDK',
      experiment: 'workerd',
      goal: 2.5,
      value: cheaperThan(SDK),
    },
    {
      ...AT_LEAST,
      what: 'than a relay that shares',
      experiment: 'workerd',
      goal: 2,
      value: cheaperThan(RELAY),
    },
    shown(
      'than a relay that shares and writes a wave as one chunk',
      'workerd',
      cheaperThan(MERGING_RELAY),
    ),
    shown('processor time, of the limit in one isolate', 'workerd', ratioTo(LIMIT, 'cpu')),
    {
      ...AT_LEAST,
      what: 'in four isolates, than the SDK in one',
      experiment: 'workerd-isolates',
      goal: 2.5,
      value: cheaperThan(SDK),
    },
    {
      ...AT_LEAST,
      what: 'in four isolates, than a relay that shares',
      experiment: 'workerd-isolates',
      goal: 2,
      value: cheaperThan(RELAY),
    },
    shown(
      'in four isolates, than a relay that shares and writes a wave as one chunk',
      'workerd-isolates',
      cheaperThan(MERGING_RELAY),
    ),
  ],
  S6: [
    {
      ...AT_MOST,
      what: 'p99 to the last stream, of the SDK',
      experiment: 'last-stream',
      goal: 0.8,
      value: ratioTo(SDK),
    },
    {
      ...AT_MOST,
      what: 'processor, of the SDK',
      experiment: 'last-stream',
      goal: 0.8,
      value: ratioTo(SDK, 'cpu'),
    },
    {
      ...AT_MOST,
      what: 'of object-held SSE',
      experiment: 'last-stream',
      goal: 1.1,
      value: ratioTo(HELD, 'cpu'),
    },
    shown('a relay that shares, p99, of the SDK', 'last-stream', ratioOf(RELAY, SDK)),
    shown('its processor, of the SDK', 'last-stream', ratioOf(RELAY, SDK, 'cpu')),
    shown('of object-held SSE', 'last-stream', ratioOf(RELAY, HELD, 'cpu')),
    shown('the limit in one isolate, of the SDK', 'last-stream', ratioOf(LIMIT, SDK, 'cpu')),
    shown('ours in one isolate, of the SDK', 'last-stream', ratioOf(LOCAL, SDK, 'cpu')),
  ],
  S7: [
    {
      ...AT_MOST,
      unit: 'KB',
      what: 'a Worker, gzip',
      experiment: 'bundle-worker',
      goal: 170,
      value: own,
    },
    {
      ...AT_MOST,
      unit: 'KB',
      what: 'a server on Node, gzip',
      experiment: 'bundle-node',
      goal: 150,
      value: own,
    },
    {
      ...AT_MOST,
      unit: 'KB',
      what: 'a page, gzip',
      experiment: 'bundle-page',
      goal: 65,
      value: own,
    },
    {
      ...AT_MOST,
      unit: 'ms',
      what: 'instantiate, slowest host',
      experiment: 'instantiate',
      goal: 5,
      value: highest,
    },
  ],
  S8: [
    {
      ...AT_LEAST,
      what: 'opened at once, of the SDK',
      experiment: 'opens-at-once',
      goal: 1,
      value: ratioTo(SDK),
    },
    {
      ...AT_MOST,
      what: 'processor, of the SDK',
      experiment: 'opens-at-once',
      goal: 1.1,
      value: ratioTo(SDK, 'cpu'),
    },
    shown('the limit, opened, of the SDK', 'opens-at-once', ratioOf(LIMIT, SDK)),
    shown('its processor, of the SDK', 'opens-at-once', ratioOf(LIMIT, SDK, 'cpu')),
    shown('ours in one isolate, opened, of the SDK', 'opens-at-once', ratioOf(LOCAL, SDK)),
    shown('its processor, of the SDK', 'opens-at-once', ratioOf(LOCAL, SDK, 'cpu')),
    shown('ours around the SDK, opened, of it', 'opens-at-once', ratioOf(AROUND, SDK)),
    shown('its processor, of the SDK', 'opens-at-once', ratioOf(AROUND, SDK, 'cpu')),
    {
      ...AT_MOST,
      what: 'ack of what is followed, of the SDK',
      experiment: 'ack-followed',
      goal: 1.1,
      value: ratioTo(SDK),
    },
    shown('of the limit', 'ack-followed', ratioTo(LIMIT)),
    shown('ours in one isolate, of the SDK', 'ack-followed', ratioOf(LOCAL, SDK)),
    shown('ours around the SDK, of it', 'ack-followed', ratioOf(AROUND, SDK)),
    {
      ...AT_MOST,
      what: 'ack of a new topic, of the SDK and 1.2 round trips',
      experiment: 'ack-new',
      goal: 1,
      value: ratioTo(SDK, undefined, { name: 'a round trip to an object', share: 1.2 }),
    },
    shown('of the limit', 'ack-new', ratioTo(LIMIT)),
    shown('ack of the first stream of an isolate, of the SDK', 'ack-first', ratioTo(SDK)),
    shown('ack of a new topic, the bus hibernates', 'ack-hibernating', own, 'ms'),
    {
      ...AT_MOST,
      unit: 'ms',
      what: 'bus away: refused within',
      experiment: 'ack-away',
      goal: 3_000,
      value: own,
    },
    {
      ...AT_MOST,
      what: 'one more name, 65,536 names to none',
      experiment: 'one-name',
      goal: 2,
      value: spread({ metric: 'change' }),
    },
  ],
  S9: [
    {
      ...AT_MOST,
      unit: 'ms',
      what: 'waking 3,000 streams, beyond 1.2 warm publishes',
      experiment: 'wake-streams',
      goal: 50,
      value: own,
    },
    {
      ...AT_MOST,
      unit: 'ms',
      what: 'waking 2,000 sockets, alike',
      experiment: 'wake-sockets',
      goal: 150,
      value: own,
    },
  ],
  S10: [
    {
      ...AT_LEAST,
      what: 'frames on Node, less processor time than the SDK on Node',
      experiment: 'node',
      goal: 5,
      value: cheaperThan('TypeScript SDK on Node', NODE),
    },
    {
      ...AT_LEAST,
      what: 'than the Python SDK',
      experiment: 'node',
      goal: 25,
      value: cheaperThan('Python SDK', NODE),
    },
    shown(
      'the limit, less processor time than the SDK on Node',
      'node',
      cheaperThan('TypeScript SDK on Node', 'write only'),
    ),
  ],
  S11: [
    {
      ...AT_MOST,
      what: 'a publish of one frame, 10,000 edges to 1,000',
      experiment: 'shard-publish',
      goal: 1.5,
      value: spread({ metric: 'publish' }),
    },
  ],
  S13: [
    {
      ...AT_MOST,
      what: 'processor time of an event to 1,000 streams, of a cue with as many bytes',
      experiment: 'event-fan-out',
      goal: 1.3,
      value: ratioTo('a cue as long as the event'),
    },
    shown('of a shorter cue', 'event-fan-out', ratioTo('a cue')),
    {
      ...AT_MOST,
      what: 'until a publish with 10,000 webhooks returns, of one with none',
      experiment: 'webhook-publish',
      goal: 1.5,
      value: ratioTo('no webhooks'),
    },
    {
      ...AT_LEAST,
      unit: 'POST/s',
      what: 'messages to webhooks',
      experiment: 'webhook-posts',
      goal: 200,
      value: own,
    },
    {
      ...AT_MOST,
      unit: 'KB',
      what: 'wasm of MCP Events in a Worker without them',
      experiment: 'bundle-worker',
      goal: 0,
      value: ownOf('events'),
    },
    {
      ...AT_MOST,
      unit: 'KB',
      what: 'in a server on Node without them',
      experiment: 'bundle-node',
      goal: 0,
      value: ownOf('events'),
    },
  ],
  S14: [
    {
      ...AT_MOST,
      unit: 'ms',
      what: 'first paint of the console, 390 pixels wide',
      experiment: 'console-paint',
      goal: 100,
      value: ownOf('narrow'),
    },
    {
      ...AT_MOST,
      unit: 'ms',
      what: '1,280 pixels wide',
      experiment: 'console-paint',
      goal: 100,
      value: ownOf('wide'),
    },
    {
      ...AT_MOST,
      unit: 'ms',
      what: 'work a frame, new messages beside 50,000',
      experiment: 'console-timeline',
      goal: 16,
      value: ownOf('insert'),
    },
    {
      ...AT_MOST,
      unit: 'ms',
      what: 'scrolling through 50,000',
      experiment: 'console-timeline',
      goal: 16,
      value: ownOf('scroll'),
    },
    {
      ...AT_MOST,
      unit: 'ms',
      what: 'typing a filter of 50,000, a key',
      experiment: 'console-timeline',
      goal: 50,
      value: ownOf('typing'),
    },
    {
      ...AT_MOST,
      unit: 'KB',
      what: 'gzip of what Inspect loads',
      experiment: 'console-size',
      goal: 150,
      value: ownOf('inspect'),
    },
    {
      ...AT_MOST,
      unit: 'KB',
      what: 'of what a visit of Operate loads',
      experiment: 'console-size',
      goal: 150,
      value: ownOf('operate'),
    },
    {
      ...AT_MOST,
      unit: 'KB',
      what: 'of what both tabs load',
      experiment: 'console-size',
      goal: 150,
      value: ownOf('all'),
    },
  ],
};
