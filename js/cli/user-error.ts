/** A project that cannot be changed safely; the message says why, and what to do. */
export class UserError extends Error {
  override readonly name = 'Refusal';
}
