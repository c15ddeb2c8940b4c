import { element } from '../dom.js';
import { record, text } from '../mcp/json.js';

/** A field of a form for one argument of a tool. */
export interface Field {
  label: HTMLLabelElement;
  /**
   * Returns the argument for the request; undefined if it is omitted. Throws SyntaxError if the
   * input is not JSON.
   */
  read: () => unknown;
}

/** Returns the field for one argument, according to its JSON Schema. */
export function fieldFor(
  name: string,
  schema: Record<string, unknown>,
  isRequired: boolean,
  value: string,
): Field {
  const type = text(schema['type']);
  const title = element(
    'span',
    {},
    name,
    element('span', { class: 'soft' }, isRequired ? '' : ' (optional)'),
  );
  if (type === 'boolean') {
    const input = element('input', { type: 'checkbox' });
    return { label: element('label', { class: 'tick' }, input, title), read: () => input.checked };
  }
  const input = controlFor(type, schema, isRequired);
  input.value = value;
  const hint = text(schema['description']);
  const label = element('label', { class: 'field' }, title, input);
  if (hint !== undefined) input.title = hint;
  return {
    label,
    read: () => (input.value === '' && !isRequired ? undefined : read(type, input.value)),
  };
}

/** Returns the arguments in the JSON Schema of a tool. */
export function argumentsOf(
  schema: unknown,
): { name: string; schema: Record<string, unknown>; isRequired: boolean }[] {
  const { properties, required } = record(schema) ?? {};
  const names = Array.isArray(required) ? required : [];
  return Object.entries(record(properties) ?? {}).map(([name, property]) => ({
    name,
    schema: record(property) ?? {},
    isRequired: names.includes(name),
  }));
}

function controlFor(type: string | undefined, schema: Record<string, unknown>, required: boolean) {
  if (type === 'number' || type === 'integer')
    return element('input', { type: 'number', step: 'any', required });
  const isLong = type !== 'string' || Number(schema['maxLength'] ?? 0) > 500;
  if (isLong) return element('textarea', { rows: 2, required, spellcheck: 'false' });
  return element('input', { type: 'text', required, spellcheck: 'false' });
}

function read(type: string | undefined, value: string): unknown {
  if (type === 'string') return value;
  return type === 'number' || type === 'integer' ? Number(value) : JSON.parse(value);
}
