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
