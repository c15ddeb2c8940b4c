import { run } from '../../scripts/process/command.mjs';

/**
 * Runs a benchmark of the crate for one size. Returns the median, the second cell of the row that
 * the benchmark prints.
 */
export async function cargoBench(name: string, size: number): Promise<number> {
  const printed = await run('cargo', ['bench', '--quiet', '--bench', name, '--', String(size)]);
  const rows = printed.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  const cell = rows.find(([, first]) => first === String(size))?.[2];
  if (cell === undefined)
    throw new Error(`the benchmark ${name} printed no row for ${size}:\n${printed}`);
  return Number(cell);
}
