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
    const blob = text(part['blob']) ?? '';
    const bytes = `${Math.floor((blob.length * 3) / 4)} bytes`;
    return `(${text(part['mimeType']) ?? 'binary'}, ${bytes}, checksum ${checksum(blob)})`;
  });
  return parts.join('\n');
}

/** Distinguishes binary contents of equal length: FNV-1a with 32 bits. */
function checksum(blob: string): string {
  let hash = 0x81_1c_9d_c5;
  for (let place = 0; place < blob.length; place += 1)
    hash = Math.imul(hash ^ blob.charCodeAt(place), 0x01_00_01_93);
  return (hash >>> 0).toString(16).padStart(8, '0');
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
