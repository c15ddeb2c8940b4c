/** The URIs in the body of a publish. */
export async function uris(request: Request): Promise<string[]> {
  return ((await request.json()) as { uris: string[] }).uris;
}
