import { record, records } from '../mcp/json.js';

/** A JSON Schema. */
export type Schema = Record<string, unknown>;

/**
 * Returns a schema without references and without `null` beside other types, as the SDKs of Python
 * and TypeScript write enums, models and values that may be null. If it allows null, the returned
 * schema has `nullable: true`.
 *
 * @param root - the schema that contains the definitions.
 */
export function resolved(schema: Schema, root: Schema, steps = 0): Schema {
  const { $ref, allOf, anyOf, oneOf, default: initial, ...own } = schema;
  if (steps > MAX_STEPS) return own;
  const follow = (branch: Schema) => resolved(branch, root, steps + 1);
  const branches = records(anyOf ?? oneOf).map(follow);
  const others = branches.filter(({ type }) => type !== 'null');
  const parts = records(allOf).map(follow);
  if (typeof $ref === 'string') parts.push(follow(targetOf($ref, root)));
  if (others.length === 1) parts.push(...others);
  const types = [own['type'] ?? []].flat();
  const some = types.filter((type) => type !== 'null');
  const isNullable =
    others.length < branches.length || (some.length > 0 && some.length < types.length);
  return {
    ...joined(parts),
    ...own,
    ...(others.length > 1 && { anyOf: others }),
    ...(initial !== undefined && initial !== null && { default: initial }),
    ...(some.length === 1 && { type: some[0] }),
    ...(isNullable && { nullable: true }),
  };
}

/** Returns whether a resolved schema accepts strings beside values of other types. */
export function acceptsText({ anyOf, type }: Schema): boolean {
  return [type].flat().includes('string') || records(anyOf).some(acceptsText);
}

/**
 * Returns the members of a resolved schema, and which of them are required. A choice between
 * objects has the members of all, and requires those that each of them requires.
 */
export function membersOf(schema: Schema): { properties: Schema; required: unknown[] } {
  const objects = [schema, ...records(schema['anyOf'])];
  const [own = [], ...lists] = objects.map(({ required }) => [required ?? []].flat());
  const [first = [], ...rest] = lists;
  const inAll = first.filter((name) => rest.every((list) => list.includes(name)));
  const properties = objects.map((one) => record(one['properties']) ?? {});
  return { properties: joined(properties.reverse()), required: [...own, ...inAll] };
}

/** Returns an object with all members of some, also one with the name `__proto__`. */
function joined(objects: Schema[]): Schema {
  return Object.fromEntries(objects.flatMap((one) => Object.entries(one)));
}

/** Returns what a reference such as `#/$defs/Color` names; an empty schema if it is not there. */
function targetOf(reference: string, root: Schema): Schema {
  const [base, ...keys] = reference.split('/');
  if (base !== '#') return {};
  const target = keys.reduce<unknown>(
    (at, key) => record(at)?.[key.replaceAll('~1', '/').replaceAll('~0', '~')],
    root,
  );
  return record(target) ?? {};
}

/** The longest chain of references that is followed: a schema may refer to itself. */
const MAX_STEPS = 16;
