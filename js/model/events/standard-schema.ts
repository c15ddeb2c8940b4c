/**
 * A schema of any library that implements Standard Schema 1, such as Zod, Valibot or ArkType; only
 * the part that is used here.
 */
export interface StandardSchema<Output = unknown> {
  /** The interface of Standard Schema. */
  readonly '~standard': {
    /** The version of the interface. */
    readonly version: 1;
    /** Validates a value. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** The types of the schema; a value at compile time only. */
    readonly types?:
      | {
          /** The type of values to validate. */
          readonly input: unknown;
          /** The type of valid values. */
          readonly output: Output;
        }
      | undefined;
  };
}

/** The valid value, or why a value is not valid. */
export type SchemaResult<Output> =
  | {
      /** The valid value. */
      readonly value: Output;
      /** Undefined: the value is valid. */
      readonly issues?: undefined;
    }
  | {
      /** Why the value is not valid. */
      readonly issues: readonly SchemaIssue[];
    };

/** One reason why a value is not valid. */
export interface SchemaIssue {
  /** What is wrong. */
  readonly message: string;
}
