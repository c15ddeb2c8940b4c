import type { Message, MessageStream } from './wire/message-stream.js';

/** Describes a response in a few words. */
export function responseText(status: number, message: Message | undefined): string {
  if (message?.error !== undefined) return `status ${status} and error ${message.error.code}`;
  if (message?.method !== undefined) return message.method;
  if (message?.result !== undefined) return 'a result';
  return status === 0 ? 'no response' : `status ${status} and no message`;
}

/** Describes how a stream ended. */
export function endOf({ end, messages }: MessageStream): string {
  if (messages.at(-1)?.message.result !== undefined) return 'with its result';
  return end === 'reset' ? 'with a broken connection' : 'without a result';
}

/** Returns the age of a stream, or how long it was open. */
export function secondsOf({ ageMs, end, lastByteMs }: MessageStream): string {
  return `${((end === undefined ? ageMs : lastByteMs) / 1_000).toFixed(1)} s`;
}
