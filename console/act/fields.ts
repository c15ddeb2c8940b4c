import { element } from '../dom.js';
import { timeOfDay } from '../format.js';
import { record, text } from '../mcp/json.js';
import { acceptsText, membersOf, resolved, type Schema } from './schema.js';

/** A field of a form for one argument. */
export interface Field {
  label: HTMLElement;
  /**
   * Returns the argument for the request; undefined if it is omitted. Throws SyntaxError if the
   * input is not JSON.
   */
  read: () => unknown;
  /** Suggests another value after a call, unless the user has entered one. */
  renew?: () => void;
}

/** An argument: its name, its JSON Schema, and whether it is required. */
export interface Argument {
  name: string;
  /** The schema of the value, without references. */
  schema: Schema;
  isRequired: boolean;
  /** The schema that contains the definitions for the members of an object. */
  root?: Schema;
}

/**
 * Returns the field for an argument, according to its JSON Schema. It contains the default, or the
 * first example if the argument is required.
 */
export function fieldFor(argument: Argument, depth = 0): Field {
  const { isRequired, name, schema } = argument;
  const options = optionsIn(schema);
  if (options !== undefined) return choice(argument, options);
  const isNullable = schema['nullable'] === true;
  if (schema['type'] === 'boolean')
    return isRequired && !isNullable ? checkbox(argument) : choice(argument, BOOLEANS);
  const members = argumentsOf(schema, argument.root);
  if (members.length > 0 && depth < MAX_DEPTH) return group(argument, members, depth);
  const input = controlFor(schema, isRequired && !isNullable);
  let suggested = suggestionFor(argument);
  input.value = suggested;
  const isEmpty = () => input.value === '' && (isNullable || !isRequired);
  const read = () => (isEmpty() ? emptyValue(argument) : typedValue(schema, input.value, name));
  const renew = () => {
    if (input.value === suggested) input.value = suggested = suggestionFor(argument);
  };
  return { label: labelled(argument, input), read, renew };
}

/** Returns the arguments in a JSON Schema of an object; `root` contains its definitions. */
export function argumentsOf(schema: unknown, root = record(schema) ?? {}): Argument[] {
  const { properties, required } = membersOf(resolved(record(schema) ?? {}, root));
  return Object.entries(properties).map(([name, property]) => ({
    name,
    schema: resolved(record(property) ?? {}, root),
    isRequired: required.includes(name),
    root,
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

function choice(argument: Argument, options: [unknown, string][]): Field {
  const { isRequired, schema } = argument;
  const select = element('select', {});
  const isNullable = schema['nullable'] === true;
  if (!isRequired || isNullable) select.append(element('option', { value: '' }, 'none'));
  const chosen = schema['default'];
  for (const [index, [option, title]] of options.entries())
    select.append(element('option', { value: index, selected: option === chosen }, title));
  return {
    label: labelled(argument, select),
    read: () => (select.value === '' ? emptyValue(argument) : options[Number(select.value)]?.[0]),
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
    members.map((member) => [member.name, fieldFor(member, depth + 1)] as const),
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

/** Returns the value of an empty field: null if the argument is required, otherwise none. */
function emptyValue({ isRequired, schema }: Argument): null | undefined {
  return isRequired && schema['nullable'] === true ? null : undefined;
}

function typedValue(schema: Schema, value: string, name: string): unknown {
  const { type } = schema;
  if (type === 'string') return value;
  if (type === 'number' || type === 'integer') return Number(value);
  try {
    return JSON.parse(value);
  } catch {
    if (acceptsText(schema)) return value;
    throw new SyntaxError(`${name} must be JSON, such as {"a": 1}, [1, 2] or "text".`);
  }
}

/** Returns the default or an example as text; a time of day in an example is the current one. */
function suggestionFor({ isRequired, schema }: Argument): string {
  const { default: initial, examples } = schema;
  if (initial !== undefined || !isRequired) return textOf(initial, schema);
  const example = Array.isArray(examples) ? textOf(examples[0], schema) : '';
  return example.replace(TIME_OF_DAY, () => timeOfDay(Date.now()));
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
const TIME_OF_DAY = /\b\d\d:\d\d:\d\d\.\d{3}\b/;
/** How deep objects in objects have fields; deeper ones are entered as JSON. */
const MAX_DEPTH = 3;
