/** Returns header fields for the core: lines `name: value`. */
export function headerLines(headers: Headers): string {
  let lines = '';
  headers.forEach((value, name) => {
    lines += lines === '' ? `${name}: ${value}` : `\n${name}: ${value}`;
  });
  return lines;
}
