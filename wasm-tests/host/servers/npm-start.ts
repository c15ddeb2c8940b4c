import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { environment } from '../../../scripts/process/command.mjs';
import { root } from '../../../scripts/process/project.mjs';

/** A running `npm start`. */
export interface Started {
  /** The MCP endpoint. */
  url: string;
  /** The address of the console, with the token of operators. */
  console: string;
  /** Stops it with SIGTERM. */
  stop(): Promise<void>;
}

/** Runs `npm start` on a free port, with variables; resolves once it prints that it serves. */
export async function npmStart(variables: Record<string, string> = {}): Promise<Started> {
  const env = { ...environment, ...variables, PORT: '0' };
  const child = spawn('npm', ['start'], { cwd: root, env });
  let output = '';
  const serving = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
        if (output.includes('Ctrl-C')) resolve();
      });
    }
  });
  const ended = once(child, 'exit');
  await Promise.race([
    serving,
    ended.then(() => Promise.reject(new Error(`npm start ended\n${output}`))),
  ]);
  return {
    url: output.match(/http:\S+\/mcp/)?.[0] ?? '',
    console: output.match(/http:\S+\/#token=\S+/)?.[0] ?? '',
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
