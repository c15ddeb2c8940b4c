import { applyEdits, type JSONPath, modify, type ParseError, parse } from 'jsonc-parser';
import { UserError } from './user-error.js';
import type { Missing } from './wrangler-config.js';

/** @throws Refusal where the text is no JSON, with or without comments and trailing commas. */
export function readJsonc(path: string, text: string): unknown {
  const errors: ParseError[] = [];
  const value = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined)
    throw new UserError(
      `${path} is no JSON: see line ${text.slice(0, first.offset).split('\n').length}`,
    );
  return value;
}

/** The text with the value at a path, or with one more in the list that the path ends in when its last step is -1. */
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

/** The configuration with what it lacks. */
export function editedJsonc(text: string, { binding, migration, rule }: Missing): string {
  let edited = text;
  if (binding !== undefined)
    edited = withJson(edited, ['durable_objects', 'bindings', -1], binding);
  if (migration !== undefined) edited = withJson(edited, ['migrations', -1], migration);
  if (rule !== undefined) edited = withJson(edited, ['rules', rule, 'fallthrough'], true);
  return edited;
}
