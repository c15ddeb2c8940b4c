/** Returns the value if it is a JSON object; otherwise undefined. */
export function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** Returns the objects in a list; ignores other items. */
export function records(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(record).filter((item) => item !== undefined) : [];
}

/** Returns the value if it is a string; otherwise undefined. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Returns the JSON object in a text; undefined if there is none. */
export function recordIn(json: string): Record<string, unknown> | undefined {
  try {
    return record(JSON.parse(json));
  } catch {
    return undefined;
  }
}
