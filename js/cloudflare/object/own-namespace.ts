/**
 * Returns the namespace of an object, from the bindings and exported classes of its Worker: the one
 * in which the object's name has the object's id. Returns undefined if the object has no name or
 * its Worker has no access to the namespace.
 */
export function ownNamespace(
  ctx: DurableObjectState,
  env: unknown,
): DurableObjectNamespace | undefined {
  const { exports } = ctx as { exports?: object };
  const candidates = [...Object.values(env ?? {}), ...Object.values(exports ?? {})];
  return candidates.filter(isNamespace).find((namespace) => contains(namespace, ctx.id));
}

/**
 * Whether a binding is a namespace of Durable Objects. A stub of a service has every method that is
 * looked up, so only the name of its class identifies it.
 */
function isNamespace(candidate: unknown): candidate is DurableObjectNamespace {
  return /DurableObjectNamespace$/.test((candidate as object | undefined)?.constructor?.name ?? '');
}

function contains(namespace: DurableObjectNamespace, id: DurableObjectId): boolean {
  const { jurisdiction, name } = id;
  if (name === undefined) return false;
  const scoped =
    jurisdiction === undefined
      ? namespace
      : namespace.jurisdiction(jurisdiction as DurableObjectJurisdiction);
  return scoped.idFromName(name).equals(id);
}
