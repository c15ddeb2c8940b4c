import { ListenError, type ListenErrorCode } from '../../model/error.js';

/** Why a bus object did not accept an occurrence: errors lose their code between objects. */
export interface RefusedEvent {
  /** The code of the error. */
  refused: ListenErrorCode;
  /** What is wrong, for people. */
  message: string;
}

/** Returns what the object returns in place of an error of the publisher; throws other errors. */
export function refusedEvent(error: unknown): RefusedEvent {
  if (!(error instanceof ListenError)) throw error;
  return { refused: error.code, message: error.message };
}

/** Returns the reply of an object, or throws the error that it names. */
export function acceptedEvent<T extends object>(reply: T | RefusedEvent): T {
  if ('refused' in reply) throw new ListenError(reply.refused, reply.message);
  return reply;
}
