import { env } from 'cloudflare:workers';
import { FixedText, textOf } from '../../wasm/server/bindings.js';

/**
 * Returns the id of the deployment that this isolate runs: the id of the Worker's version if it has
 * a `version_metadata` binding, otherwise the version of this package.
 */
export function deployment(): string {
  const bound = (Object.values(env as object) as unknown[]).find(isVersion);
  return bound?.id ?? textOf(FixedText.Version);
}

function isVersion(bound: unknown): bound is { id: string } {
  const { id, tag, timestamp } = (bound ?? {}) as {
    id?: unknown;
    tag?: unknown;
    timestamp?: unknown;
  };
  return [id, tag, timestamp].every((member) => typeof member === 'string') && id !== '';
}
