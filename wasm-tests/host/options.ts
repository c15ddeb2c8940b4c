import type {
  DeclaredServer,
  ListenCapabilities,
  ListenHandlerOptions,
  PrincipalResult,
} from 'mcp-listen';

/** Options of `createListenHandler` in JSON: `principal` is its result, or that it throws. */
export interface WrittenOptions extends Omit<ListenHandlerOptions, 'principal'> {
  principal?: PrincipalResult | { throws: true };
}

/** The options that the JSON stands for. */
export function optionsOf({ principal, ...options }: WrittenOptions): ListenHandlerOptions {
  return principal === undefined ? options : { ...options, principal: () => resultOf(principal) };
}

function resultOf(principal: NonNullable<WrittenOptions['principal']>): PrincipalResult {
  if (typeof principal === 'object' && 'throws' in principal) throw new Error('thrown by a test');
  return principal;
}

/** The declaration of a test server with these capabilities. */
export function declaring(capabilities: ListenCapabilities): DeclaredServer {
  return { info: { name: 'tests', version: '1.0.0' }, capabilities };
}

/** Everything that a server can announce notifications for, except tasks and events. */
export const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};
