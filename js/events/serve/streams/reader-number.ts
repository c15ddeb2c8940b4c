/** Returns the number of the next reader of listen streams. */
export function nextReader(): number {
  readers += 1;
  return readers;
}

let readers = 0;
