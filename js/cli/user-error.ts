/** Thrown for a project that cannot be changed safely. The message says why, and what to do. */
export class UserError extends Error {
  override readonly name = 'Refusal';
}
