import { env } from 'cloudflare:workers';
import type { ScreenOptions } from 'mcp-listen';

/** The settings of the Worker, read from its variables. Unset variables switch everything off. */
export interface Settings {
  /** Whether there are tools that write to the notebook. */
  isWritable: boolean;
  /** Whether the console is served at `/`. */
  hasConsole: boolean;
  /** Whether `/stats` is public. */
  isStatsOpen: boolean;
  /** The publish secret; if undefined, publishing over HTTP is disabled. */
  publishToken: string | undefined;
  /** The bearer token of `/operate` and `/stats`; if undefined, there are no such paths. */
  operatorToken: string | undefined;
  /** The bearer token of `/metrics`; if undefined, there is no such path. */
  metricsToken: string | undefined;
  /** Whether any bearer token names its caller, whose webhooks may be on this machine. */
  hasDemoCallers: boolean;
  /** Which host names are accepted. */
  screening: ScreenOptions;
}

/**
 * Reads the variables.
 *
 * @throws Error for an invalid value, so that a misconfigured Worker does not start.
 */
export function settingsOf(variables: Cloudflare.Env): Settings {
  const { ALLOWED_HOSTS, OPERATOR_TOKEN, PUBLISH_TOKEN } = variables;
  if (OPERATOR_TOKEN && OPERATOR_TOKEN === PUBLISH_TOKEN)
    throw new Error('OPERATOR_TOKEN and PUBLISH_TOKEN must differ: publishers are no operators');
  return {
    isWritable: isOn(variables, 'NOTEBOOK_WRITE'),
    hasConsole: isOn(variables, 'CONSOLE'),
    isStatsOpen: isOn(variables, 'STATS_OPEN'),
    hasDemoCallers: isOn(variables, 'DEMO_CALLERS'),
    publishToken: tokenOf(variables, 'PUBLISH_TOKEN'),
    operatorToken: tokenOf(variables, 'OPERATOR_TOKEN'),
    metricsToken: tokenOf(variables, 'METRICS_TOKEN'),
    screening: ALLOWED_HOSTS ? { allowedHosts: listOf(ALLOWED_HOSTS) } : {},
  };
}

/** Returns the entries of a list separated by commas, without blanks. */
export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function isOn(
  variables: Cloudflare.Env,
  name: 'CONSOLE' | 'DEMO_CALLERS' | 'NOTEBOOK_WRITE' | 'STATS_OPEN',
): boolean {
  const value = variables[name] ?? '';
  if (!['', 'off', 'on'].includes(value)) throw new Error(`${name} must be "on" or "off"`);
  return value === 'on';
}

function tokenOf(
  variables: Cloudflare.Env,
  name: 'METRICS_TOKEN' | 'OPERATOR_TOKEN' | 'PUBLISH_TOKEN',
): string | undefined {
  const token = variables[name] ?? '';
  if (token === '') return undefined;
  if (new TextEncoder().encode(token).byteLength < MIN_TOKEN_BYTES) {
    throw new Error(
      `${name} must have at least ${MIN_TOKEN_BYTES} bytes, so that it cannot be guessed`,
    );
  }
  return token;
}

const MIN_TOKEN_BYTES = 16;

/** The settings of this Worker. */
export const settings = settingsOf(env);
