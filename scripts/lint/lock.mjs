/**
 * The packages of a package-lock.json that nothing verifies: those without `integrity`, but for the
 * ones that {@link unserved} names; and those of that list which have it by now, or are gone.
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
    .map((name) => `${name} is listed without need`);
  return [...lacking, ...listed];
}

/**
 * Packages of other platforms in versions that the registry of the machine this lock was made on
 * does not serve, so that their digests could not be had. Where npm installs one it takes the
 * digest from its registry at that moment. Each may go from here once `npm view NAME@VERSION
 * dist.integrity` answers, and what it says is in the lock.
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
 * A link leads to a package of the repository itself.
 * @param {{ members: string[] }} entry
 */
function isBare({ members }) {
  return !members.some((member) =>
    /^ {6}("integrity": "sha512-[\w+/]{86}==",?|"link": true,?)$/.test(member),
  );
}
