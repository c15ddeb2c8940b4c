import type { StandardSchema } from '../../model/events/standard-schema.js';

/** A JSON Schema, which is validated by draft 2020-12. */
export type JsonSchema = Record<string, unknown>;

/**
 * A schema of zod, valibot, arktype or any other library of Standard Schema. Clients see it as JSON
 * Schema if it describes itself so (`~standard.jsonSchema`), and otherwise as any object. For
 * valibot, `toStandardJsonSchema` of `@valibot/to-json-schema` adds that.
 */
export interface DescribedSchema<Output = unknown> extends StandardSchema<Output> {
  /** The interface of Standard Schema. */
  readonly '~standard': StandardSchema<Output>['~standard'] & {
    /** Describes the schema as JSON Schema. */
    readonly jsonSchema?: {
      /** Returns the JSON Schema of valid values. */
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}

/** A schema of an event type. */
export type EventSchema<Output = unknown> = DescribedSchema<Output> | JsonSchema;

/** The values that a schema accepts, before it changes any; without a schema, any object. */
export type Described<Schema> = EventSchema extends Schema
  ? Record<string, unknown>
  : Schema extends {
        /** The interface of Standard Schema. */
        readonly '~standard': {
          /** The types of the schema. */
          readonly types?: infer Types;
        };
      }
    ? NonNullable<Types> extends {
        /** The type of the values that the schema accepts. */
        readonly input: infer Input;
      }
      ? Input
      : Record<string, unknown>
    : Record<string, unknown>;

/** Checks values against a schema. */
export interface Validator {
  /** The schema as JSON Schema. */
  readonly json: JsonSchema;
  /** Returns what is wrong with a value; undefined: nothing. */
  problem(value: unknown): Promise<string | undefined>;
}

/** Returns whether a schema is one of Standard Schema. Those of arktype are functions. */
export function isStandard(schema: EventSchema): schema is DescribedSchema {
  return ['function', 'object'].includes(typeof schema) && '~standard' in schema;
}

/** Returns the JSON Schema of a schema of Standard Schema; without one, that of any object. */
export function jsonSchemaOf(schema: DescribedSchema): JsonSchema {
  const { jsonSchema } = schema['~standard'];
  return jsonSchema?.input({ target: 'draft-2020-12' }) ?? { type: 'object' };
}
