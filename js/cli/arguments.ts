import { type ParseArgsConfig, parseArgs } from 'node:util';
import { UserError } from './user-error.js';

/**
 * Parses the arguments of a command.
 *
 * @throws UserError with the usage if they are invalid.
 */
export function expectArgs<const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: Options,
  usage: string,
  exitCode = 1,
) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UserError(`${(error as Error).message}\n\n${usage}`, exitCode);
  }
}
