import type { SubscriptionFilter, TaskState } from 'mcp-listen';
import type { Message } from '../mcp/message.js';
import type { Topic } from '../mcp/topic.js';
import type { FilterItem } from './filter.js';

/** What a card shows: a subscription to change notifications, or one to events. */
export interface Subject {
  /** One or more letters, unique in the page. */
  readonly name: string;
  /** What it requested. */
  readonly items: FilterItem[];
  /** When it was requested. */
  readonly began: number;
  /** The id of its latest listen request, as JSON. */
  readonly id: string | undefined;
  /** Number of received messages. */
  readonly messages: number;
  /** Its latest cue or event. */
  readonly cue: { topic: Topic; at: number } | undefined;
  /** The latest state of each task that it has received, by the id of the task. */
  readonly tasks: ReadonlyMap<string, TaskState>;
  /**
   * The part of the requested filter that the server honors, or honored when the subscription was
   * last live; undefined before the first acknowledgment.
   */
  readonly honored: SubscriptionFilter | undefined;
  readonly state: 'connecting' | 'live' | 'waiting' | 'stopped';
  /** Milliseconds from its latest request to the acknowledgment; undefined before the first one. */
  readonly ackMs: number | undefined;
  /** Its ends by reason, as text. */
  readonly ends: string;
  /** How often it was reopened. */
  readonly reconnects: number;
  /** Why it waits or has stopped, as text. */
  readonly errorText: string | undefined;
  /** Ends the subscription. */
  close(): Promise<void>;
}

/** Receives the events of a subscription. */
export interface SubscriptionEvents {
  /** Called with every message that is sent or received. */
  onMessage: (message: Message) => void;
  /** Called when a topic has to be read again. */
  onStale: (topic: Topic) => Promise<void> | undefined;
  /** Called when anything about the subscription has changed. */
  onChange: () => void;
}
