import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { environment } from '../../../scripts/process/command.mjs';
import { root } from '../../../scripts/process/project.mjs';

/** What `npm start` serves. */
export interface Started {
  /** The MCP endpoint. */
  url: string;
  /** The console, with the secret of publishers in its address. */
  console: string;
  /** Ends it as Ctrl-C would. */
  stop(): Promise<void>;
}

/** Runs `npm start` on any free port; resolves when it says that it serves. */
export async function npmStart(): Promise<Started> {
  const child = spawn('npm', ['start'], { cwd: root, env: { ...environment, PORT: '0' } });
  let said = '';
  const serving = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        said += text;
        if (said.includes('Ctrl-C')) resolve();
      });
    }
  });
  const ended = once(child, 'exit');
  await Promise.race([
    serving,
    ended.then(() => Promise.reject(new Error(`npm start ended\n${said}`))),
  ]);
  return {
    url: said.match(/http:\S+\/mcp/)?.[0] ?? '',
    console: said.match(/http:\S+\/#publish=\S+/)?.[0] ?? '',
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
