import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../../scripts/process/project.mjs';
import type { ConsolePage } from './console-page.ts';

/** Returns what axe finds wrong with the page: a rule, the element and a summary for each. */
export async function violations(console: ConsolePage): Promise<string[]> {
  await console.page.evaluate(await axe);
  return console.page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run: () => Promise<{ violations: Violation[] }> };
    };
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    );
  });
}

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

const axe = readFile(join(root, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');
