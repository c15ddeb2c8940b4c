import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { main, onStop } from '../../scripts/process/main.mjs';
import { root } from '../../scripts/process/project.mjs';
import { startFixture } from '../host/fixture/start.ts';
import { startPlayer } from './player.ts';

/** Serves the tests in the browser while a command runs, and exits with its status. */
async function serve(): Promise<void> {
  const workerd = await startFixture({ edges: 2 });
  const player = await startPlayer(workerd.edges);
  const stop = async (): Promise<void> => {
    player.stop();
    await workerd.stop();
  };
  onStop(stop);
  await mkdir(dirname(ADDRESSES), { recursive: true });
  await writeFile(ADDRESSES, [...workerd.edges, player.url].join('\n'));
  process.exitCode = await statusOf(process.argv.slice(2));
  await stop();
}

function statusOf([command = '', ...args]: string[]): Promise<number> {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  onStop(async () => void child.kill());
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => resolve(status ?? 1));
  });
}

/** The file with the origins; wasm-bindgen's runner serves the folder that it runs in. */
const ADDRESSES = join(root, 'browser', '.build', 'addresses.txt');

await main(import.meta.url, serve);
