import { element } from '../dom.js';
import { record, text } from '../mcp/json.js';

/** A field of a form for one argument. */
export interface Field {
  label: HTMLElement;
  /**
   * Returns the argument for the request; undefined if it is omitted. Throws SyntaxError if the
   * input is not JSON.
   */
  read: () => unknown;
}

/** An argument: its name, its JSON Schema, and whether it is required. */
export interface Argument {
  name: string;
  schema: Schema;
  isRequired: boolean;
}

type Schema = Record<string, unknown>;

/** Returns the field for an argument, according to its JSON Schema. */
export function fieldFor(argument: Argument, value: string, depth = 0): Field {
  const { isRequired, name, schema } = argument;
  const options = optionsIn(schema);
  if (options !== undefined) return choice(argument, options, value);
  if (schema['type'] === 'boolean')
    return isRequired ? checkbox(argument) : choice(argument, BOOLEANS, value);
  const members = argumentsOf(schema);
  if (members.length > 0 && depth < MAX_DEPTH) return group(argument, members, depth);
  const input = controlFor(schema, isRequired);
  input.value = value === '' ? textOf(schema['default'], schema) : value;
  const type = text(schema['type']);
  const isOmitted = () => input.value === '' && !isRequired;
  const read = () => (isOmitted() ? undefined : typedValue(type, input.value, name));
  return { label: labelled(argument, input), read };
}

/** Returns the arguments in a JSON Schema of an object. */
export function argumentsOf(schema: unknown): Argument[] {
  const { properties, required } = record(schema) ?? {};
  const names = Array.isArray(required) ? required : [];
  return Object.entries(record(properties) ?? {}).map(([name, property]) => ({
    name,
    schema: record(property) ?? {},
    isRequired: names.includes(name),
  }));
}

/**
 * Returns the values of several fields as an object without the omitted ones.
 *
 * @throws SyntaxError if an input is not JSON.
 */
export function valuesOf(fields: ReadonlyMap<string, Field>): Record<string, unknown> {
  const entries = [...fields].map(([name, field]) => [name, field.read()] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Returns the values that a schema lists, with their titles; undefined if it lists none. */
function optionsIn(schema: Schema): [value: unknown, title: string][] | undefined {
  if (Array.isArray(schema['enum'])) {
    const names = Array.isArray(schema['enumNames']) ? schema['enumNames'] : [];
    return schema['enum'].map((value, index) => [value, String(names[index] ?? value)]);
  }
  if ('const' in schema) return [[schema['const'], String(schema['const'])]];
  const branches = schema['oneOf'] ?? schema['anyOf'];
  if (!Array.isArray(branches) || branches.length === 0) return undefined;
  const constants = branches.map((branch) => record(branch) ?? {});
  if (!constants.every((branch) => 'const' in branch)) return undefined;
  return constants.map((branch) => [
    branch['const'],
    text(branch['title']) ?? String(branch['const']),
  ]);
}

function choice(argument: Argument, options: [unknown, string][], value: string): Field {
  const { isRequired, schema } = argument;
  const select = element('select', {});
  if (!isRequired) select.append(element('option', { value: '' }, 'none'));
  const chosen = value === '' ? schema['default'] : value;
  for (const [index, [option, title]] of options.entries())
    select.append(element('option', { value: index, selected: option === chosen }, title));
  return {
    label: labelled(argument, select),
    read: () => (select.value === '' ? undefined : options[Number(select.value)]?.[0]),
  };
}

/** A boolean that is always sent, because it is required. */
function checkbox({ isRequired, name, schema }: Argument): Field {
  const input = element('input', { type: 'checkbox', checked: schema['default'] === true });
  const title = titleOf(name, isRequired);
  const label = element('label', { class: 'tick' }, input, title);
  label.title = text(schema['description']) ?? '';
  return { label, read: () => input.checked };
}

/**
 * An object whose members have fields too. An optional one has a checkbox: until it is checked, the
 * object is omitted, and none of its members has to be filled in.
 */
function group({ isRequired, name }: Argument, members: Argument[], depth: number): Field {
  const fields = new Map(
    members.map((member) => [member.name, fieldFor(member, '', depth + 1)] as const),
  );
  const title = titleOf(name, isRequired);
  const box = element('input', { type: 'checkbox', checked: isRequired });
  const label = element(
    'fieldset',
    { class: 'group-of-fields', disabled: !isRequired },
    element('legend', {}, isRequired ? title : element('label', { class: 'tick' }, box, title)),
    ...[...fields.values()].map((field) => field.label),
  );
  box.addEventListener('change', () => {
    label.disabled = !box.checked;
  });
  return { label, read: () => (box.checked ? valuesOf(fields) : undefined) };
}

function controlFor(schema: Schema, required: boolean) {
  const type = text(schema['type']);
  if (type === 'number' || type === 'integer') {
    const [min, max] = [schema['minimum'], schema['maximum']].map(numberOrNone);
    const step = type === 'integer' ? 1 : 'any';
    return element('input', { type: 'number', step, min, max, required });
  }
  const isLong = type !== 'string' || Number(schema['maxLength'] ?? 0) > 500;
  if (isLong) return element('textarea', { rows: 2, required, spellcheck: 'false' });
  return element('input', {
    type: FORMATS[text(schema['format']) ?? ''] ?? 'text',
    required,
    spellcheck: 'false',
    pattern: patternOf(schema),
    minlength: numberOrNone(schema['minLength']),
    maxlength: numberOrNone(schema['maxLength']),
  });
}

function labelled({ isRequired, name, schema }: Argument, control: HTMLElement): HTMLElement {
  const hint = text(schema['description']);
  const label = element('label', { class: 'field' }, titleOf(name, isRequired), control);
  if (hint !== undefined) control.title = hint;
  return label;
}

function titleOf(name: string, isRequired: boolean): HTMLElement {
  const optional = element('span', { class: 'soft' }, isRequired ? '' : ' (optional)');
  return element('span', {}, name, optional);
}

function typedValue(type: string | undefined, value: string, name: string): unknown {
  if (type === 'string') return value;
  if (type === 'number' || type === 'integer') return Number(value);
  try {
    return JSON.parse(value);
  } catch {
    throw new SyntaxError(`${name} must be JSON, such as {"a": 1}, [1, 2] or "text".`);
  }
}

function textOf(value: unknown, { type }: Schema): string {
  if (value === undefined) return '';
  return type === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value);
}

/**
 * Returns the pattern of a schema for a field, which has to match the whole value; undefined if
 * there is none, or if HTML does not know its syntax.
 */
function patternOf(schema: Schema): string | undefined {
  const pattern = text(schema['pattern']);
  if (pattern === undefined) return undefined;
  const whole = `.*(?:${pattern}).*`.replace(/^\.\*\(\?:\^|\$\)\.\*$/g, (end) =>
    end.startsWith('.') ? '(?:' : ')',
  );
  try {
    return new RegExp(whole, 'v').source;
  } catch {
    return undefined;
  }
}

function numberOrNone(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

const BOOLEANS: [value: unknown, title: string][] = [
  [true, 'true'],
  [false, 'false'],
];
/** The types of text fields by the format of a string; other formats are text. */
const FORMATS: Partial<Record<string, string>> = { email: 'email', uri: 'url', date: 'date' };
/** How deep objects in objects have fields; deeper ones are entered as JSON. */
const MAX_DEPTH = 3;
