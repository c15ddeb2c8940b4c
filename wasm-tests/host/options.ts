import type {
  DeclaredServer,
  ListenCapabilities,
  ListenHandlerOptions,
  PrincipalAnswer,
} from 'mcp-listen';

/**
 * Options of `createListenHandler` as JSON has them: for `principal` stands what it answers, or
 * that it throws.
 */
export interface WrittenOptions extends Omit<ListenHandlerOptions, 'principal'> {
  principal?: PrincipalAnswer | { throws: true };
}

/** The options that are written here. */
export function optionsOf({ principal, ...options }: WrittenOptions): ListenHandlerOptions {
  return principal === undefined ? options : { ...options, principal: () => answered(principal) };
}

function answered(principal: NonNullable<WrittenOptions['principal']>): PrincipalAnswer {
  if (typeof principal === 'object' && 'throws' in principal) throw new Error('thrown by a test');
  return principal;
}

/** A server of tests that notifies about this. */
export function declaring(capabilities: ListenCapabilities): DeclaredServer {
  return { info: { name: 'tests', version: '1.0.0' }, capabilities };
}
