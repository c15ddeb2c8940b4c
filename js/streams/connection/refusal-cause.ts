import { ListenError } from '../../model/error.js';
import type { StreamOutput } from '../../wasm/server/bindings.js';

/** Returns why a stream is refused. `lost`: why the bus was lost, if it was. */
export function refusalCause(kind: StreamOutput['kind'], lost: Error | undefined): Error {
  if (kind === 'full')
    return new ListenError('bus-full', 'the bus has no room for the topics of the stream');
  return lost ?? new ListenError('bus-lost', 'the bus cannot determine what was missed');
}
