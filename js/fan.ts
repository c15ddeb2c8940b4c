/**
 * Takes apart what `Fanout.publish` of the core answers, and tells of each stream and the chunk it is to be written. Streams of one
 * group share theirs: nobody may write into it, nor transfer it.
 */
export function each(fan: Uint8Array, tell: (stream: number, chunk: Uint8Array) => void): void {
  const words = new Uint32Array(fan.buffer, 0, fan.byteLength >> 2);
  const count = words[0] as number;
  const streams = words.subarray(1 + 2 * count);
  const head = 4 * (1 + 2 * count + (words[2 * count] as number));
  for (let group = 0, from = 0, next = 0; group < count; group += 1) {
    const end = words[1 + 2 * group] as number;
    const last = words[2 + 2 * group] as number;
    // A copy for each group: a slow reader must not keep the chunks of all groups alive.
    const chunk = fan.slice(head + from, head + end);
    from = end;
    for (; next < last; next += 1) tell(streams[next] as number, chunk);
  }
}
