import { env } from 'cloudflare:workers';
import type { FrontOptions } from 'mcp-listen';

/** What the variables of this Worker switch on. All of it is off where they say nothing. */
export interface Settings {
  /** Whether the tools that write into the notebook are listed and can be called. */
  isWritable: boolean;
  /** Whether the console is served at `/`. */
  hasConsole: boolean;
  /** Whether everyone may read the numbers at `/stats`. */
  isStatsOpen: boolean;
  /**
   * The secret of publishers, which also opens `/stats`; without it nothing is published over HTTP.
   */
  publishToken: string | undefined;
  /** What opens `/metrics`; without it there is no such path. */
  metricsToken: string | undefined;
  /** Which hosts may be named. */
  front: FrontOptions;
}

/**
 * Reads the variables.
 *
 * @throws Error for a value that a variable cannot have: a Worker with a typing error does not
 * start.
 */
export function settingsOf(variables: Cloudflare.Env): Settings {
  const { ALLOWED_HOSTS } = variables;
  return {
    isWritable: isOn(variables, 'NOTEBOOK_WRITE'),
    hasConsole: isOn(variables, 'CONSOLE'),
    isStatsOpen: isOn(variables, 'STATS_OPEN'),
    publishToken: tokenOf(variables, 'PUBLISH_TOKEN'),
    metricsToken: tokenOf(variables, 'METRICS_TOKEN'),
    front: ALLOWED_HOSTS ? { allowedHosts: listOf(ALLOWED_HOSTS) } : {},
  };
}

/** The entries of a list with commas, without blanks. */
export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function isOn(
  variables: Cloudflare.Env,
  name: 'CONSOLE' | 'NOTEBOOK_WRITE' | 'STATS_OPEN',
): boolean {
  const value = variables[name] ?? '';
  if (!['', 'off', 'on'].includes(value)) throw new Error(`${name} has to be "on" or "off"`);
  return value === 'on';
}

function tokenOf(
  variables: Cloudflare.Env,
  name: 'METRICS_TOKEN' | 'PUBLISH_TOKEN',
): string | undefined {
  const token = variables[name] ?? '';
  if (token === '') return undefined;
  if (new TextEncoder().encode(token).byteLength < FEWEST_BYTES) {
    throw new Error(`${name} has less than ${FEWEST_BYTES} bytes: it could be guessed`);
  }
  return token;
}

const FEWEST_BYTES = 16;

/** The settings of this Worker. */
export const settings = settingsOf(env);
