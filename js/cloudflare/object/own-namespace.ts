/**
 * The namespace that an object is in, among the bindings of its Worker and the classes that this exports: the one
 * that has its id under its name. Undefined where the object has no name, or its Worker no way to its namespace.
 */
export function ownNamespace(
  ctx: DurableObjectState,
  env: unknown,
): DurableObjectNamespace | undefined {
  const { exports } = ctx as { exports?: object };
  const known = [...Object.values(env ?? {}), ...Object.values(exports ?? {})];
  return known.filter(isNamespace).find((namespace) => isHome(namespace, ctx.id));
}

/** What stands for another service has every method that is asked for: only its class tells what it is. */
function isNamespace(known: unknown): known is DurableObjectNamespace {
  return /DurableObjectNamespace$/.test((known as object | undefined)?.constructor?.name ?? '');
}

function isHome(namespace: DurableObjectNamespace, id: DurableObjectId): boolean {
  const { jurisdiction, name } = id;
  if (name === undefined) return false;
  const within =
    jurisdiction === undefined
      ? namespace
      : namespace.jurisdiction(jurisdiction as DurableObjectJurisdiction);
  return within.idFromName(name).equals(id);
}
