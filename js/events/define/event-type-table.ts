import { ListenError } from '../../model/error.js';
import { isObject } from '../../model/json.js';
import { withTimeout } from '../../timing/with-timeout.js';
import { type EventDefinitionOptions, isMatchResult, matches } from '../../wasm/events/bindings.js';
import type { MatchOptions } from '../deliver/deliverer.js';
import type { EventDefinition, EventTypes } from './definitions.js';
import type { Validator } from './schema.js';
import { validatorOf } from './validator.js';

/** An occurrence as functions of the server receive it. */
interface Occurrence {
  data: Record<string, unknown>;
}

/** The event types of a server: their schemas, and the functions that match occurrences. */
export class EventTypeTable {
  readonly #types: Map<string, EventType>;

  /** @throws ListenError `invalid-options`. */
  constructor(types: EventTypes) {
    if (!isObject(types)) throw invalid('event types are not an object of definitions');
    const entries = Object.entries(types);
    this.#types = new Map(entries.map(([name, type]) => [name, new EventType(name, type)]));
  }

  /** The definitions for the core, by name. */
  get definitions(): Record<string, EventDefinitionOptions> {
    const entries = [...this.#types].map(([name, type]) => [name, type.definition]);
    return Object.fromEntries(entries) as Record<string, EventDefinitionOptions>;
  }

  /** Returns whether arguments, as JSON text, are valid for a type. */
  async isValid(name: string, args: string): Promise<boolean> {
    const problem = await this.#types.get(name)?.input.problem(JSON.parse(args));
    return problem === undefined;
  }

  /**
   * Checks a payload.
   *
   * @throws ListenError `invalid-event-name` if there is no such type, `invalid-event-data`.
   */
  async expectValid(name: string, data: unknown): Promise<void> {
    const type = this.#types.get(name);
    if (type === undefined)
      throw new ListenError('invalid-event-name', `there is no event type ${name}`);
    const problem = await type.payload.problem(data);
    if (problem !== undefined) throw new ListenError('invalid-event-data', problem);
  }

  /**
   * Returns the match results of the occurrences of a page, as JSON text for the core, for a
   * subscription with these arguments, as JSON text.
   */
  async matchResults(
    name: string,
    args: string,
    page: string,
    options: MatchOptions,
  ): Promise<string> {
    const { events } = JSON.parse(page) as { events: Occurrence[] };
    const type = this.#types.get(name);
    const results = events.map(
      ({ data }) => type?.matchResult(JSON.parse(args), data, options) ?? FAILED,
    );
    return `[${(await Promise.all(results)).join(',')}]`;
  }
}

/** One event type. */
class EventType {
  readonly input: Validator;
  readonly payload: Validator;
  readonly #type: EventDefinition;

  /** @throws ListenError `invalid-options`. */
  constructor(name: string, type: EventDefinition) {
    if (!isObject(type as unknown)) throw invalid(`the definition of ${name} is not an object`);
    const unknown = Object.keys(type).find((member) => !MEMBERS.includes(member));
    if (unknown !== undefined) throw invalid(`the definition of ${name} has no ${unknown}`);
    this.#type = type;
    this.input = validatorOf(type.inputSchema);
    this.payload = validatorOf(type.payloadSchema);
  }

  get definition(): EventDefinitionOptions {
    const { _meta, delivery, description, match, transform } = this.#type;
    const isHostMatched = typeof match === 'function' || transform !== undefined;
    return {
      inputSchema: this.input.json,
      payloadSchema: this.payload.json,
      ...(description !== undefined && { description }),
      ...(delivery !== undefined && { delivery: [...delivery] }),
      ...(isHostMatched ? { match: 'host' } : match !== undefined && { match }),
      ...(_meta !== undefined && { _meta }),
    };
  }

  /**
   * Returns whether a subscription receives an occurrence, and with which payload, as JSON text.
   */
  async matchResult(
    args: Record<string, unknown>,
    data: Record<string, unknown>,
    { ms, onError }: MatchOptions,
  ): Promise<string> {
    const { match, transform } = this.#type;
    try {
      const passes =
        typeof match === 'function'
          ? await inTime(ms, 'match', match(args, data))
          : isMatch(match, args, data);
      if (!passes || transform === undefined) return resultOf(passes);
      return resultOf({ data: await inTime(ms, 'transform', transform(data, args)) });
    } catch (error) {
      // The core reports the failure to the subscriber.
      onError(error as Error);
      return FAILED;
    }
  }
}

/**
 * Returns a match result as JSON text. One that the core cannot read would spoil those of the whole
 * page: a transform may cut a character in half, or nest a payload too deep.
 *
 * @throws ListenError `invalid-event-data`.
 */
function resultOf(result: unknown): string {
  const text = JSON.stringify(result) ?? FAILED;
  if (isMatchResult(text)) return text;
  const problem = '`match` returned no boolean, or `transform` no valid payload';
  throw new ListenError('invalid-event-data', problem);
}

/** Waits for the result of a function, which is mostly there at once. */
function inTime<T>(ms: number, name: string, result: T | Promise<T>): T | Promise<T> {
  const isPromised = typeof (result as Partial<Promise<T>> | undefined)?.then === 'function';
  if (ms === 0 || !isPromised) return result;
  return withTimeout(ms, result, () => new Error(`${name} took too long`));
}

/** Matches fields as the core does, for a type whose payloads are transformed here. */
function isMatch(match: Record<string, string> | undefined, args: unknown, data: unknown): boolean {
  const [fields, given, payload] = [match ?? {}, args, data].map((value) => JSON.stringify(value));
  return matches(fields as string, given as string, payload as string);
}

function invalid(problem: string): ListenError {
  return new ListenError('invalid-options', problem);
}

/** The match result of an occurrence whose functions have failed. */
const FAILED = 'null';
/** The members of an {@link EventDefinition}. */
const MEMBERS = [
  '_meta',
  'delivery',
  'description',
  'inputSchema',
  'match',
  'payloadSchema',
  'transform',
];
