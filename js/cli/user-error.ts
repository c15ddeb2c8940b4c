/** Thrown where the command cannot do its work. The message says why, and what to do. */
export class UserError extends Error {
  override readonly name = 'Refusal';
  /** The exit code of the process. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
