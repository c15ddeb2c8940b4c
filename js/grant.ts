import { type Asker, type AuthorizeContext, type Authorizing, permitOf } from './authorize.js';
import { ListenError } from './error.js';
import { guarded } from './report.js';

/** What a stream needs to ask again what its caller may hear. */
export interface Grant {
  /** Milliseconds for which an answer holds. */
  readonly ms: number;
  /** Asks about a filter, given as JSON text, and answers with one; undefined: nothing may be heard. */
  ask(requested: string): Promise<string | undefined>;
  /** What the core found wrong with an answer. */
  refuse(wrong: string | undefined): void;
}

/** How a stream asks again on behalf of `asker`; undefined where everybody may hear everything, or an answer holds for ever. */
export function grantOf(authorizing: Authorizing<AuthorizeContext>, asker: Asker, ms: number): Grant | undefined {
  if (authorizing.authorize === undefined || ms === 0) return undefined;
  // Nobody would catch what it throws, and the stream would wait for ever.
  const onerror = guarded(authorizing.onerror);
  return {
    ms,
    ask: async (requested) => {
      const permit = await permitOf({ ...authorizing, onerror }, { ...asker, requested: JSON.parse(requested) });
      return permit.filter;
    },
    refuse: (wrong) => {
      if (wrong !== undefined) onerror(new ListenError('invalid-filter', wrong));
    },
  };
}
