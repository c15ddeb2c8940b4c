import { applyEdits, type JSONPath, modify, type ParseError, parse } from 'jsonc-parser';
import { UserError } from '../../user-error.js';
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

/** Sets the value at a path in the text. A last step of -1 appends the value to the list. */
export function withJson(text: string, path: JSONPath, value: unknown): string {
  const tabs = /^\t/m.test(text);
  const tabSize = /^( +)\S/m.exec(text)?.[1]?.length ?? 2;
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const formattingOptions = { insertSpaces: !tabs, tabSize, eol };
  return applyEdits(
    text,
    modify(text, path, value, { formattingOptions, isArrayInsertion: path.at(-1) === -1 }),
  );
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
