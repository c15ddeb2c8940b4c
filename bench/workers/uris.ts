/** What a publish names, as every contender is asked for it. */
export async function uris(request: Request): Promise<string[]> {
  return ((await request.json()) as { uris: string[] }).uris;
}
