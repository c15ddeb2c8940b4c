import { type Schema, Validator as SchemaValidator } from '@cfworker/json-schema';
import {
  type DescribedSchema,
  type EventSchema,
  isStandard,
  type JsonSchema,
  jsonSchemaOf,
  type Validator,
} from './schema.js';

/** Returns what validates by a schema; undefined: any object is valid. */
export function validatorOf(schema: EventSchema | undefined): Validator {
  if (schema === undefined) return new JsonValidator({ type: 'object' });
  if (!isStandard(schema)) return new JsonValidator(schema);
  return new StandardValidator(schema, jsonSchemaOf(schema));
}

/** Validates by the validator of the schema's library. */
class StandardValidator implements Validator {
  readonly json: JsonSchema;
  readonly #schema: DescribedSchema;

  constructor(schema: DescribedSchema, json: JsonSchema) {
    this.json = json;
    this.#schema = schema;
  }

  async problem(value: unknown): Promise<string | undefined> {
    const { issues } = await this.#schema['~standard'].validate(value);
    return issues?.map(({ message }) => message).join('; ');
  }
}

/** Validates by JSON Schema, without compiling code: Workers allow none. */
class JsonValidator implements Validator {
  readonly json: JsonSchema;
  readonly #validator: SchemaValidator;

  constructor(json: JsonSchema) {
    this.json = json;
    this.#validator = new SchemaValidator(json as Schema, '2020-12', false);
  }

  async problem(value: unknown): Promise<string | undefined> {
    const { errors, valid } = this.#validator.validate(value);
    if (valid) return undefined;
    return errors.map(({ error, instanceLocation }) => `${instanceLocation}: ${error}`).join('; ');
  }
}
