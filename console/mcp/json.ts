/** The value as an object of JSON; undefined where it is none. */
export function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** The value as a list of objects; what else is in it is passed over. */
export function records(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(record).filter((item) => item !== undefined) : [];
}

/** The value as a text; undefined where it is none. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
