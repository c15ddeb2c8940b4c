/**
 * Returns those of `parts` that `isEnough` needs: without any of them it is false. `isEnough` is
 * true of all parts together. If either of two parts is enough, the result has the first one. It is
 * called about `2 k log2 n` times for `k` of `n` parts (QuickXplain, Junker 2004).
 *
 * @param others - parts that are in each set that `isEnough` is called with.
 */
export async function required<Part>(
  parts: readonly Part[],
  isEnough: (parts: readonly Part[]) => Promise<boolean>,
  others: readonly Part[] = [],
): Promise<readonly Part[]> {
  if (parts.length === 0 || (await isEnough(others))) return [];
  if (parts.length === 1) return parts;
  const middle = Math.ceil(parts.length / 2);
  const first = parts.slice(0, middle);
  const ofSecond = await required(parts.slice(middle), isEnough, [...others, ...first]);
  const ofFirst = await required(first, isEnough, [...others, ...ofSecond]);
  return [...ofFirst, ...ofSecond];
}
