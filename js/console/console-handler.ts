import {
  createOperatorHandler,
  type OperatorOptions,
  pathOf,
} from '../operator/operator-handler.js';
import { expectEndpoint, pageFile } from './page-files.js';

/** Options of {@link createConsole}. */
export interface ConsoleOptions extends OperatorOptions {
  /**
   * The path of the MCP endpoint that the page connects to at first, or a URL at another origin.
   *
   * @default '/mcp'
   */
  endpoint?: string;
}

/**
 * Creates a handler that serves the console at `path`, and `stats` and `operate` below it, as
 * `createOperatorHandler` does. The page itself holds no secret, so everyone may load it; its user
 * enters the token. Resolves with undefined for every other path.
 *
 * @throws ListenError `invalid-options`.
 *
 * @example
 * ```ts
 * const operated = createConsole({ server, token: env.OPERATOR_TOKEN });
 * // in fetch:
 * const response = (await operated(request)) ?? (await server.fetch(request));
 * ```
 */
export function createConsole(
  options: ConsoleOptions,
): (request: Request) => Promise<Response | undefined> {
  const operated = createOperatorHandler(options);
  const path = pathOf(options.path);
  const { endpoint = '/mcp' } = options;
  expectEndpoint(endpoint);
  return async (request) => (await operated(request)) ?? pageFile(request, path, endpoint);
}
