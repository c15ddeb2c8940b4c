import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { rmcpClient, rmcpProgram } from '../../../scripts/setup/rmcp.mjs';
import type { ListenOnceClient } from './client.ts';

/**
 * The Rust SDK's client (a process), which reads the list of tools after each notification. One
 * whose subscription is refused is stopped after `failed`.
 */
export async function rmcp(
  url: string,
  failed: () => Promise<void> = async () => {},
): Promise<ListenOnceClient> {
  compiling ??= rmcpClient();
  await compiling;
  const client = spawn(rmcpProgram, [url], { stdio: ['pipe', 'pipe', 'pipe'] });
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  let complaints = '';
  let known: string[] = [];
  let end: string | undefined;
  client.stderr.setEncoding('utf8').on('data', (text) => {
    complaints += text;
  });
  client.once('close', () => {
    end ??= `the client ended\n${complaints}`;
    reject(new Error(end));
  });
  createInterface({ input: client.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as Line;
    if (line.honored?.toolsListChanged) resolve();
    if (line.refused !== undefined) reject(new Error(line.refused));
    known = line.tools ?? known;
    end = line.end ?? end;
  });
  await listening.catch(async (error: Error) => {
    await failed();
    await stopped(client);
    throw error;
  });
  return { tools: async () => known, end: async () => end, stop: () => stopped(client) };
}

/** The client ends with its input. */
async function stopped(client: ChildProcess): Promise<void> {
  if (client.exitCode !== null) return;
  const ended = once(client, 'close');
  client.stdin?.end();
  await ended;
}

/** What the client prints. */
interface Line {
  honored?: { toolsListChanged?: boolean };
  refused?: string;
  tools?: string[];
  end?: string;
}

let compiling: Promise<void> | undefined;
