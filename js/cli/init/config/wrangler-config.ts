import { UserError } from '../../user-error.js';

/** The part of a wrangler configuration that matters here. */
export interface WranglerConfig {
  main?: string;
  no_bundle?: boolean;
  pages_build_output_dir?: string;
  durable_objects?: { bindings?: Binding[] };
  migrations?: Migration[];
  rules?: Rule[];
  vars?: Record<string, unknown>;
  env?: Record<string, unknown>;
  [key: string]: unknown;
}

interface Binding {
  name: string;
  class_name: string;
  script_name?: string;
}

interface Migration {
  tag: string;
  new_classes?: string[];
  new_sqlite_classes?: string[];
}

interface Rule {
  type: string;
  globs: string[];
  fallthrough?: boolean;
}

/** The missing parts of a configuration; undefined ones are present already. */
export interface Missing {
  binding: Binding | undefined;
  migration: Migration | undefined;
  /**
   * The index of the rule that prevents wrangler's default rule for WebAssembly from being applied.
   */
  rule: number | undefined;
  /** Whether this Worker defines the class itself, rather than another Worker. */
  isOwn: boolean;
}

/**
 * Returns the missing parts of a configuration.
 *
 * @throws UserError if the configuration conflicts with the bus.
 */
export function missingIn(config: WranglerConfig): Missing {
  rejectUnsupported(config);
  const bound = (config.durable_objects?.bindings ?? []).find(
    ({ class_name }) => class_name === CLASS,
  );
  const isOwn = bound?.script_name === undefined;
  return {
    binding: bound === undefined ? { name: BINDING, class_name: CLASS } : undefined,
    migration: isOwn ? missingMigration(config.migrations ?? []) : undefined,
    rule: blockingRule(config.rules ?? []),
    isOwn,
  };
}

/** Returns the configuration with the missing parts added. */
export function withMissing(
  config: WranglerConfig,
  { binding, migration, rule }: Missing,
): WranglerConfig {
  const whole = structuredClone(config);
  if (binding !== undefined) {
    whole.durable_objects = { ...whole.durable_objects };
    whole.durable_objects.bindings = [...(whole.durable_objects.bindings ?? []), binding];
  }
  if (migration !== undefined) whole.migrations = [...(whole.migrations ?? []), migration];
  if (rule !== undefined)
    whole.rules =
      whole.rules?.map((one, index) => (index === rule ? { ...one, fallthrough: true } : one)) ??
      [];
  return whole;
}

/** Returns the name of the binding of the bus, which {@link missingIn} adds if there is none. */
export function bindingOf({ durable_objects }: WranglerConfig): string {
  const bound = durable_objects?.bindings?.find(({ class_name }) => class_name === CLASS);
  return bound?.name ?? BINDING;
}

/** Returns the names of the environments: these do not inherit bindings. */
export function environmentsOf({ env }: WranglerConfig): string[] {
  return Object.keys(env ?? {});
}

function rejectUnsupported(config: WranglerConfig): void {
  if (config.pages_build_output_dir !== undefined)
    throw new UserError(
      'this is a Pages project, which cannot contain a Durable Object: ' +
        'add the bus to a Worker, and bind its class',
    );
  if (config.no_bundle)
    throw new UserError(
      'no_bundle is set, but the bus is part of a package, which has to be bundled',
    );
  const taken = (config.durable_objects?.bindings ?? []).find(({ name }) => name === BINDING);
  if (taken !== undefined && taken.class_name !== CLASS)
    throw new UserError(
      `the binding ${BINDING} is taken by the class ${taken.class_name}: rename one of them`,
    );
  if (namesBinding({ ...config, durable_objects: undefined, env: undefined }))
    throw new UserError(`the name ${BINDING} is taken by another binding: rename it`);
}

/**
 * Returns whether a binding has the name of the bus. Most bindings are objects in a list with their
 * name in `binding`; variables are keys.
 */
function namesBinding(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(namesBinding);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([key, member]) =>
      key === BINDING || (key === 'binding' && member === BINDING) || namesBinding(member),
  );
}

function missingMigration(migrations: Migration[]): Migration | undefined {
  if (migrations.some(({ new_classes }) => new_classes?.includes(CLASS)))
    throw new UserError(
      `a migration creates ${CLASS} without SQLite: ` +
        'list it in new_sqlite_classes instead of new_classes',
    );
  if (migrations.some(({ new_sqlite_classes }) => new_sqlite_classes?.includes(CLASS)))
    return undefined;
  const tags = migrations.map(({ tag }) => tag);
  const tag = tags.includes(TAG) ? `${TAG}-${tags.length + 1}` : TAG;
  return { tag, new_sqlite_classes: [CLASS] };
}

/**
 * Returns the index of the rule that hides wrangler's default rule for WebAssembly: wrangler
 * applies no rule of a type after one without `fallthrough`.
 */
function blockingRule(rules: Rule[]): number | undefined {
  const index = rules.findIndex(
    ({ type, fallthrough }) => type === 'CompiledWasm' && fallthrough !== true,
  );
  const covers = rules[index]?.globs.includes('**/*.wasm');
  return index === -1 || covers ? undefined : index;
}

const BINDING = 'MCP_BUS';
const CLASS = 'SubscriptionBus';
const TAG = 'mcp-listen';
