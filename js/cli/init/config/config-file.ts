import { isDeepStrictEqual } from 'node:util';
import { UserError } from '../../user-error.js';
import { editedJsonc, readJsonc } from './jsonc.js';
import { editedToml, readToml } from './toml.js';
import { type Missing, type WranglerConfig, withMissing } from './wrangler-config.js';

/** The file names of wrangler's configuration, in wrangler's order of precedence. */
export const CONFIG_FILES = ['wrangler.json', 'wrangler.jsonc', 'wrangler.toml'];

/**
 * Parses a configuration file.
 *
 * @throws UserError if the file cannot be parsed.
 */
export function readConfig(path: string, text: string): WranglerConfig {
  const config = path.endsWith('.toml') ? readToml(path, text) : readJsonc(path, text);
  if (typeof config !== 'object' || config === null)
    throw new UserError(`${path} does not contain a configuration`);
  return config as WranglerConfig;
}

/**
 * Adds the missing parts to the text of the configuration. Everything else stays as it is, comments
 * included.
 *
 * @throws UserError if the edited text does not parse to the expected configuration.
 */
export function editedConfig(
  path: string,
  text: string,
  config: WranglerConfig,
  missing: Missing,
): string {
  const edited = path.endsWith('.toml') ? editedToml(text, missing) : editedJsonc(text, missing);
  if (!parsesTo(path, edited, withMissing(config, missing)))
    throw new UserError(
      `${path} cannot be edited automatically; add this by hand:\n\n${editedToml('', missing)}`,
    );
  return edited;
}

function parsesTo(path: string, text: string, wanted: WranglerConfig): boolean {
  try {
    return isDeepStrictEqual(plain(readConfig(path, text)), plain(wanted));
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}

/** Removes the prototypes that parsers give to objects, for the comparison. */
function plain(config: WranglerConfig): unknown {
  return JSON.parse(JSON.stringify(config));
}
