import { spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { root } from '../../scripts/process/project.mjs';
import { programs } from './snippets.ts';

/** The commands with curl that a page of docs prints, in their order. */
export async function curlCommands(page: string): Promise<string[]> {
  return (await programs('sh', page)).filter((block) => block.startsWith('curl '));
}

/** A command that runs until the end of the test, and what it has printed. */
export function ran(command: string): { output: string } {
  const child = spawn('sh', ['-c', `exec ${command}`], { cwd: root });
  onTestFinished(() => void child.kill());
  const printed = { output: '' };
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => (printed.output += text));
  return printed;
}
