import { ListenError } from '../../model/error.js';

/** A JSON Schema, which is validated by draft 2020-12. */
export type JsonSchema = Record<string, unknown>;

/**
 * A schema of zod, valibot, arktype or any other library of Standard Schema that also describes it
 * as JSON Schema (`~standard.jsonSchema`).
 */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    /** Validates a value. */
    validate(value: unknown): StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly jsonSchema?: {
      /** Returns the JSON Schema of valid inputs. */
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}

/** The outcome of a validation: a value, or what is wrong. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

/** A schema of an event type. */
export type EventSchema<Output = unknown> = StandardSchema<Output> | JsonSchema;

/** The values that a schema describes. */
export type Described<Schema> =
  Schema extends StandardSchema<infer Output> ? Output : Record<string, unknown>;

/** Checks values against a schema. */
export interface Validator {
  /** The schema as JSON Schema. */
  readonly json: JsonSchema;
  /** Returns what is wrong with a value; undefined: nothing. */
  problem(value: unknown): Promise<string | undefined>;
}

/** Returns whether a schema is one of Standard Schema. */
export function isStandard(schema: EventSchema): schema is StandardSchema {
  return typeof schema === 'object' && '~standard' in schema;
}

/**
 * Returns the JSON Schema of a schema of Standard Schema.
 *
 * @throws ListenError `invalid-options` if it has none.
 */
export function jsonSchemaOf(schema: StandardSchema, place: string): JsonSchema {
  const { jsonSchema, vendor } = schema['~standard'];
  if (jsonSchema !== undefined) return jsonSchema.input({ target: 'draft-2020-12' });
  throw new ListenError(
    'invalid-options',
    `${place}: this schema of ${vendor} has no JSON Schema (~standard.jsonSchema)`,
  );
}
