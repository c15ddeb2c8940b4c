/** The namespace, which counts the calls of each method of its stubs in this isolate. */
export function counted(real: { getByName(name: string): object }) {
  let calls: Record<string, number> = {};
  const count = (method: string): void => {
    calls[method] = (calls[method] ?? 0) + 1;
  };
  const stubOf = (stub: object) => ({
    get:
      (_: object, method: string) =>
      (...args: unknown[]) => {
        count(method);
        return (stub as Record<string, (...args: unknown[]) => unknown>)[method]?.(...args);
      },
  });
  const getByName = (name: string) => new Proxy({}, stubOf(real.getByName(name)));
  return {
    namespace: { getByName },
    /** The counts so far, which `isCleared` resets. */
    calls(isCleared: boolean): Record<string, number> {
      const counts = calls;
      if (isCleared) calls = {};
      return counts;
    },
  };
}
