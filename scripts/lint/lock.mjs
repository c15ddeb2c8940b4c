/**
 * Returns the packages of a package-lock.json that are not verified: those without `integrity`,
 * except the ones in {@link unserved}. Also returns entries of that list that have `integrity` by
 * now, or no longer exist.
 * @param {string[]} lines of the lock, as npm writes it
 * @returns {string[]}
 */
export function unverified(lines) {
  const bare = new Set(
    packagesOf(lines)
      .filter(isBare)
      .map(({ name }) => name),
  );
  if (bare.size === 0 && lines.every((line) => line === '')) return [];
  const lacking = [...bare]
    .filter((name) => !unserved.has(name))
    .map((name) => `${name} has no integrity`);
  const listed = [...unserved]
    .filter((name) => !bare.has(name))
    .map((name) => `${name} is listed unnecessarily`);
  return [...lacking, ...listed];
}

/**
 * Packages for other platforms whose versions were not available from the registry with which this
 * lock was created, so their digests are missing. npm uses the digest from its registry when it
 * installs one. Remove an entry once `npm view NAME@VERSION dist.integrity` returns a digest and
 * the lock has it.
 */
export const unserved = new Set([
  'node_modules/@cloudflare/workerd-darwin-64',
  'node_modules/@cloudflare/workerd-darwin-arm64',
  'node_modules/@cloudflare/workerd-windows-64',
]);

/**
 * @param {string[]} lines
 * @returns {Array<{ name: string, members: string[] }>}
 */
function packagesOf(lines) {
  /** @type {Array<{ name: string, members: string[] }>} */
  const packages = [];
  for (const line of lines) {
    const name = /^ {4}"(node_modules\/.+)": \{$/.exec(line)?.[1];
    if (name !== undefined) packages.push({ name, members: [] });
    else packages.at(-1)?.members.push(line);
  }
  return packages;
}

/**
 * A link refers to a package of this repository.
 * @param {{ members: string[] }} entry
 */
function isBare({ members }) {
  return !members.some((member) =>
    /^ {6}("integrity": "sha512-[\w+/]{86}==",?|"link": true,?)$/.test(member),
  );
}
