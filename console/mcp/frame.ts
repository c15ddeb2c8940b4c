import { record } from './json.js';
import { type Subject, subjectOfNotification } from './subject.js';

/** What a JSON-RPC text is to the reader of the timeline. */
export type FrameKind =
  | 'request'
  | 'answer'
  | 'error'
  | 'ack'
  | 'cue'
  | 'end'
  | 'notification'
  | 'unreadable';

/** One JSON-RPC text as it stood on the wire. */
export interface Frame {
  /** When it was seen, in milliseconds since 1970. */
  at: number;
  /** The name of the subscription, or `page` for the requests of the page itself. */
  source: string;
  direction: 'in' | 'out';
  text: string;
  kind: FrameKind;
  /** Its method without the prefix that all notifications have; of an answer, what it answers. */
  title: string;
  /**
   * What a cue of a resource or a task is about, or a request names; empty where that is nothing,
   * or in the title.
   */
  subject: string;
  /** What a cue is about; undefined where it is none. */
  about: Subject | undefined;
  /**
   * Whether it came on the stream of a subscription, whose id it then carries (as JSON), or not.
   */
  subscription: string | undefined;
}

/** Where and when a text was seen. */
export type Sighting = Pick<Frame, 'at' | 'source' | 'direction' | 'text'>;

/** What a text says, as far as the timeline tells. */
export function frameOf(sighting: Sighting): Frame {
  const message = record(parsed(sighting.text));
  if (message === undefined) return { ...sighting, ...said('unreadable', 'not an object of JSON') };
  const method = message['method'];
  if (typeof method !== 'string') return { ...sighting, ...answerIn(message) };
  const params = record(message['params']) ?? {};
  return {
    ...sighting,
    ...('id' in message ? requestIn(message, method, params) : notificationIn(method, params)),
  };
}

function requestIn(message: Members, method: string, params: Members): Said {
  const subject = params['name'] ?? params['uri'];
  const subscription =
    method === 'subscriptions/listen' ? JSON.stringify(message['id']) : undefined;
  return { ...said('request', method, typeof subject === 'string' ? subject : ''), subscription };
}

function notificationIn(method: string, params: Members): Said {
  const title = method.replace(/^notifications\//, '');
  const subscription = subscriptionIn(params);
  if (title === 'subscriptions/acknowledged') return { ...said('ack', title), subscription };
  const subject = subjectOfNotification(method, params);
  const kind = subject === undefined ? 'notification' : 'cue';
  return {
    ...said(kind, title, title.endsWith('list_changed') ? '' : subject),
    about: subject,
    subscription,
  };
}

function answerIn(message: Members): Said {
  const error = record(message['error']);
  if (error !== undefined)
    return said('error', `error ${error['code']}`, String(error['message'] ?? ''));
  const result = record(message['result']) ?? {};
  const subscription = subscriptionIn(result);
  return subscription === undefined
    ? said('answer', 'result')
    : { ...said('end', 'result of listen'), subscription };
}

function subscriptionIn(members: Members): string | undefined {
  const id = record(members['_meta'])?.['io.modelcontextprotocol/subscriptionId'];
  return id === undefined ? undefined : JSON.stringify(id);
}

function said(kind: FrameKind, title: string, subject = ''): Said {
  return { kind, title, subject, about: undefined, subscription: undefined };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Members = Record<string, unknown>;
type Said = Omit<Frame, keyof Sighting>;
