/** How occurrences reach a subscriber: it asks, it holds a stream, or it is called back. */
export type EventMode = 'poll' | 'push' | 'webhook';
