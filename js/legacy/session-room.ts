import type { SessionLimits, UriLimit } from './session-store.js';

/** A session of the caller that is about to begin one more. */
export interface OwnSession {
  /** Its `Mcp-Session-Id`. */
  id: string;
  /** When its last request came. */
  usedAt: number;
  /** Whether its stream is open. */
  isStreaming: boolean;
}

/** What one session watches. */
export interface Watched {
  /** How many resources. */
  uris: number;
  /** The bytes of their URIs, see {@link uriBytes}. */
  bytes: number;
}

/**
 * Counts the sessions of a store and the bytes that they watch, those of callers without a name on
 * their own too.
 */
export class SessionRoom {
  readonly #all = { sessions: 0, bytes: 0 };
  readonly #unnamed = { sessions: 0, bytes: 0 };

  /** How many sessions there are. */
  get sessions(): number {
    return this.#all.sessions;
  }

  /** Counts sessions that begin, or with negative numbers end, and the bytes that they watch. */
  add({ isNamed, sessions = 0, bytes = 0 }: { isNamed: boolean; sessions?: number; bytes?: number }): void {
    for (const count of isNamed ? [this.#all] : [this.#all, this.#unnamed]) {
      count.sessions += sessions;
      count.bytes += bytes;
    }
  }

  /** Whether one more session may begin. */
  hasRoom(isNamed: boolean, { sessions, unnamedShare }: SessionLimits): boolean {
    if (this.#all.sessions >= sessions) return false;
    return isNamed || this.#unnamed.sessions < Math.ceil(sessions * unnamedShare);
  }

  /** The limit that a session would exceed by watching `uri` too; undefined: none. */
  excess(isNamed: boolean, watched: Watched, uri: string, limits: SessionLimits): UriLimit | undefined {
    const bytes = uriBytes(uri);
    const unnamedMost = limits.busUriBytes * limits.unnamedShare;
    if (watched.uris >= limits.uris) return 'uris';
    if (watched.bytes + bytes > limits.sessionUriBytes) return 'sessionUriBytes';
    if (this.#all.bytes + bytes > limits.busUriBytes) return 'busUriBytes';
    return !isNamed && this.#unnamed.bytes + bytes > unnamedMost ? 'busUriBytes' : undefined;
  }
}

/**
 * Returns the sessions of a caller that have to end before it begins one more, where it may have
 * `most`: those without a stream before those with one, and of these the least recently used.
 */
export function surplus(own: OwnSession[], most: number): string[] {
  const excess = own.length + 1 - most;
  if (excess <= 0) return [];
  const ranked = [...own].sort((a, b) => Number(a.isStreaming) - Number(b.isStreaming) || a.usedAt - b.usedAt);
  return ranked.slice(0, excess).map(({ id }) => id);
}

/** The bytes that a watched URI counts for: its own in UTF-8, and 64 for what is kept beside it. */
export function uriBytes(uri: string): number {
  return new TextEncoder().encode(uri).length + 64;
}
