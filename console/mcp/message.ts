import { record, recordIn } from './json.js';
import { type Topic, topicOfNotification } from './topic.js';

/** The kind of a JSON-RPC message in the timeline. */
export type MessageKind =
  | 'request'
  | 'response'
  | 'error'
  | 'ack'
  | 'cue'
  | 'event'
  | 'end'
  | 'notification'
  | 'unreadable';

/** One JSON-RPC message as it was sent or received. */
export interface Message {
  /** When it was sent or received, in milliseconds since 1970. */
  at: number;
  /** The name of the subscription, or `page` for the requests of the page itself. */
  source: string;
  direction: 'in' | 'out';
  text: string;
  kind: MessageKind;
  /** The method without the prefix of notifications; for a response, the title of its request. */
  title: string;
  /**
   * The resource or task of a cue, or the name or URI in a request; empty if there is none or the
   * title contains it.
   */
  detail: string;
  /** The topic of a cue; undefined for any other message. */
  topic: Topic | undefined;
  /** The id of the subscription (as JSON) that the message belongs to; undefined: none. */
  subscription: string | undefined;
  /** Where it was sent; undefined for a received message. */
  to?: Destination | undefined;
}

/** The server that a message was sent to. */
export interface Destination {
  url: string;
  /** Whether it was sent with a bearer token. */
  hasToken: boolean;
}

/** Called with every message that is sent or received. */
export type Tap = (direction: 'in' | 'out', text: string, to?: Destination) => void;

/** A message, and where and when it was observed. */
export type ObservedMessage = Pick<Message, 'at' | 'source' | 'direction' | 'text' | 'to'>;

/** Describes a JSON-RPC text as it was observed. */
export function messageOf(observed: ObservedMessage): Message {
  const message = recordIn(observed.text);
  if (message === undefined) return { ...observed, ...summary('unreadable', 'not a JSON object') };
  const method = message['method'];
  if (typeof method !== 'string') return { ...observed, ...responseIn(message) };
  const params = record(message['params']) ?? {};
  return {
    ...observed,
    ...('id' in message ? requestIn(message, method, params) : notificationIn(method, params)),
  };
}

function requestIn(message: Members, method: string, params: Members): Summary {
  const name = params['name'] ?? params['uri'];
  const subscription = LISTENS.has(method) ? JSON.stringify(message['id']) : undefined;
  return { ...summary('request', method, typeof name === 'string' ? name : ''), subscription };
}

function notificationIn(method: string, params: Members): Summary {
  const title = method.replace(/^notifications\//, '');
  const subscription = subscriptionIn(params);
  const kind = KINDS[title];
  if (kind !== undefined) return { ...summary(kind, title, aboutEvent(params)), subscription };
  const topic = topicOfNotification(method, params);
  return {
    ...summary(
      topic === undefined ? 'notification' : 'cue',
      title,
      title.endsWith('list_changed') ? '' : topic,
    ),
    topic: topic,
    subscription,
  };
}

/** Returns the name of the event in a notification, or why its subscription has ended. */
function aboutEvent({ error, name }: Members): string {
  return String(name ?? record(error)?.['message'] ?? '');
}

function responseIn(message: Members): Summary {
  const error = record(message['error']);
  if (error !== undefined)
    return summary('error', `error ${error['code']}`, String(error['message'] ?? ''));
  const result = record(message['result']) ?? {};
  const subscription = subscriptionIn(result);
  return subscription === undefined
    ? summary('response', 'result')
    : { ...summary('end', 'result of listen'), subscription };
}

function subscriptionIn(members: Members): string | undefined {
  const id = record(members['_meta'])?.['io.modelcontextprotocol/subscriptionId'];
  return id === undefined ? undefined : JSON.stringify(id);
}

function summary(kind: MessageKind, title: string, detail = ''): Summary {
  return { kind, title, detail: detail, topic: undefined, subscription: undefined };
}

/** The requests that open a subscription. */
const LISTENS = new Set(['subscriptions/listen', 'events/stream']);
const KINDS: Partial<Record<string, MessageKind>> = {
  'subscriptions/acknowledged': 'ack',
  'events/active': 'ack',
  'events/event': 'event',
  'events/terminated': 'end',
};

type Members = Record<string, unknown>;
type Summary = Omit<Message, keyof ObservedMessage>;
