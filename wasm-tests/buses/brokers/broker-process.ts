import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { lastingPort } from '../../host/port.ts';

/** The process of a broker, which can be killed and started again on the same port. */
export class BrokerProcess {
  readonly port: number;
  /** The folder of its data, which outlives the process. */
  readonly folder: string;
  readonly #command: () => string[];
  #child: ChildProcess | undefined;

  private constructor(
    port: number,
    folder: string,
    command: (at: { port: number; folder: string }) => string[],
  ) {
    this.port = port;
    this.folder = folder;
    this.#command = () => command({ port, folder });
  }

  /** Runs `command`, whose first word is a program; resolves when it accepts connections. */
  static async start(
    command: (at: { port: number; folder: string }) => string[],
  ): Promise<BrokerProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-broker-'));
    const broker = new BrokerProcess(await lastingPort(), folder, command);
    await broker.start();
    return broker;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Starts it again. */
  async start(): Promise<void> {
    const [program = '', ...args] = this.#command();
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    let output = '';
    const ready = new Promise<void>((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text) => {
          output += text;
          if (/[Rr]eady to accept connections|Server is ready/.test(output)) resolve();
        });
      }
    });
    const ended = once(child, 'close').then(() =>
      Promise.reject(new Error(`${program} ended\n${output}`)),
    );
    await Promise.race([ready, ended]);
    ended.catch(() => {});
  }

  /** Kills it without a warning. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  /** Removes its data, while the process is dead. */
  async forget(): Promise<void> {
    await rm(this.folder, REMOVED);
    await mkdir(this.folder);
  }

  /** Kills it, and removes its data. */
  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, REMOVED);
  }
}

/** Child processes of a killed broker may still write for a moment. */
const REMOVED = { recursive: true, force: true, maxRetries: 10 };

/** Starts Redis, which keeps its data in its append-only file or not at all. */
export function startRedis(isKept = false, more: string[] = []): Promise<BrokerProcess> {
  return startServer('REDIS_SERVER', isKept, more);
}

/** Starts Valkey, as {@link startRedis} does Redis. */
export function startValkey(isKept = false): Promise<BrokerProcess> {
  return startServer('VALKEY_SERVER', isKept, []);
}

function startServer(server: string, isKept: boolean, more: string[]): Promise<BrokerProcess> {
  return BrokerProcess.start(({ folder, port }) => [
    ...[program(server), '--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
    // It replies to a write once that is in the file: otherwise a kill may lose it on a slow disk.
    ...['--appendonly', isKept ? 'yes' : 'no', '--appendfsync', 'always', '--logfile', '', ...more],
  ]);
}

/** Starts NATS, with JetStream or without it. */
export function startNats(hasJetStream: boolean, more: string[] = []): Promise<BrokerProcess> {
  return BrokerProcess.start(({ folder, port }) => [
    ...[program('NATS_SERVER'), '-a', '127.0.0.1', '-p', `${port}`, ...more],
    ...(hasJetStream ? ['-js', '-sd', folder] : []),
  ]);
}

/** Options of NATS with which the users `reader` and `writer` may only do that. */
export const RIGHTS = ['-c', join(import.meta.dirname, 'rights.conf')];

/** Starts Postgres, which keeps its tables in the folder. */
export function startPostgres(): Promise<BrokerProcess> {
  const postgres = realpathSync(program('POSTGRES_SERVER'));
  const initdb = join(dirname(postgres), 'initdb');
  return BrokerProcess.start(({ folder, port }) => [
    'sh',
    '-c',
    POSTGRES,
    'sh',
    postgres,
    initdb,
    folder,
    `${port}`,
  ]);
}

/**
 * Starts Postgres, which refuses to run as root; creates the database where there is none. `exec`
 * keeps the process id.
 */
const POSTGRES = `as=
user=nobody
[ "$(id -u)" = 0 ] && chown $user "$3" &&
  as="setpriv --reuid $user --regid $(id -g $user) --clear-groups"
cd "$3"
[ -e PG_VERSION ] ||
  $as "$2" -D "$3" -A trust -U postgres -E UTF8 --locale C --no-sync >/dev/null || exit
exec $as "$1" -D "$3" -p "$4" \\
  -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off`;

function program(variable: string): string {
  const path = process.env[variable];
  if (path === undefined) throw new Error(`${variable} is not set: run .ci/buses`);
  return path;
}
