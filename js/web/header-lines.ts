/** Returns header fields for the core: lines `name: value`. */
export function headerLines(headers: Headers): string {
  return [...headers].map((field) => field.join(': ')).join('\n');
}
