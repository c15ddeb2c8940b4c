import { parse, stringify, TomlError } from 'smol-toml';
import { UserError } from '../../user-error.js';
import type { Missing } from './wrangler-config.js';

/**
 * Parses TOML.
 *
 * @throws UserError if the text is malformed.
 */
export function readToml(path: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof TomlError)
      throw new UserError(`${path} is not valid TOML: see line ${error.line}`);
    throw error;
  }
}

/**
 * Adds the missing parts to a configuration. Arrays of tables can be continued at the end of the
 * file, whatever precedes them.
 */
export function editedToml(text: string, { binding, migration, rule }: Missing): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const tables = [
    ...(binding === undefined ? [] : [stringify({ durable_objects: { bindings: [binding] } })]),
    ...(migration === undefined ? [] : [stringify({ migrations: [migration] })]),
  ];
  const ruled = rule === undefined ? text : withFallthrough(text, rule, eol);
  const kept = ruled.trimEnd();
  if (tables.length === 0) return ruled;
  const blocks = tables.map((table) => table.trim().replaceAll('\n', eol));
  return [...(kept === '' ? [] : [kept]), ...blocks].join(eol + eol) + eol;
}

function withFallthrough(text: string, rule: number, eol: string): string {
  let index = -1;
  return text.replace(/^\[\[rules\]\].*$/gm, (header) => {
    index += 1;
    return index === rule ? `${header}${eol}fallthrough = true` : header;
  });
}
