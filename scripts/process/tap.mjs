/**
 * Runs checks of the same `evidence` and writes a TAP line for each, with what it found below it.
 * The process fails if any of them found something.
 * @template Evidence
 * @param {Array<[name: string, find: (evidence: Evidence) => string[] | Promise<string[]>]>} checks
 * @param {Evidence} evidence
 */
export async function tap(checks, evidence) {
  let failed = 0;
  for (const [index, [name, find]] of checks.entries()) {
    const found = await find(evidence);
    if (found.length > 0) failed += 1;
    process.stdout.write(`${found.length > 0 ? 'not ok' : 'ok'} ${index + 1} - ${name}\n`);
    for (const place of found) process.stdout.write(`  # ${place}\n`);
  }
  process.exitCode = failed > 0 ? 1 : 0;
}
