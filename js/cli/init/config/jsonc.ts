import { type ParseError, parse } from 'jsonc-parser';
import { UserError } from '../../user-error.js';
import { withJson } from './json-insertion.js';
import type { Missing } from './wrangler-config.js';

/**
 * Parses JSON, with or without comments and trailing commas.
 *
 * @throws UserError if the text is malformed.
 */
export function readJsonc(path: string, text: string): unknown {
  const errors: ParseError[] = [];
  const value = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined)
    throw new UserError(
      `${path} is not valid JSON: see line ${text.slice(0, first.offset).split('\n').length}`,
    );
  return value;
}

/** Adds the missing parts to a configuration. */
export function editedJsonc(text: string, { binding, migration, rule }: Missing): string {
  let edited = text;
  if (binding !== undefined)
    edited = withJson(edited, ['durable_objects', 'bindings', -1], binding);
  if (migration !== undefined) edited = withJson(edited, ['migrations', -1], migration);
  if (rule !== undefined) edited = withJson(edited, ['rules', rule, 'fallthrough'], true);
  return edited;
}
