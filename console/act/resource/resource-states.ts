import { record, records, text } from '../../mcp/json.js';

/** What a resource contained when it was read. */
export interface ResourceState {
  text: string;
  at: number;
}

/** The last two states of each resource that was read. */
export class ResourceStates {
  readonly #states = new Map<string, { now: ResourceState; before: ResourceState | undefined }>();

  /** Adds a state. The previous one is kept as the last state only if its text differs. */
  add(uri: string, state: ResourceState): void {
    const known = this.#states.get(uri);
    const isSame = known?.now.text === state.text;
    this.#states.set(uri, { now: state, before: isSame ? known.before : known?.now });
  }

  /** Returns the current state and the one before it; undefined if the resource was not read. */
  get(uri: string): { now: ResourceState; before: ResourceState | undefined } | undefined {
    return this.#states.get(uri);
  }

  /** Forgets all states. */
  clear(): void {
    this.#states.clear();
  }
}

/** Returns the contents of a resource as text, in which JSON is indented. */
export function contentText(result: Record<string, unknown>): string {
  const parts = records(result['contents']).map((part) => {
    const body = text(part['text']);
    if (body !== undefined) return indentedJson(body);
    const { length } = text(part['blob']) ?? '';
    return `(${text(part['mimeType']) ?? 'binary'}, ${Math.floor((length * 3) / 4)} bytes)`;
  });
  return parts.join('\n');
}

function indentedJson(body: string): string {
  if (!/^\s*[[{]/.test(body)) return body;
  try {
    const value: unknown = JSON.parse(body);
    return (record(value) ?? Array.isArray(value)) ? JSON.stringify(value, null, 2) : body;
  } catch {
    return body;
  }
}
