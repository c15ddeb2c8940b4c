/** Returns a random id of this isolate or process, the same as long as it lives. */
export function isolateId(): string {
  // Workers provide no random numbers before the first request.
  id ??= crypto.randomUUID();
  return id;
}

let id: string | undefined;
