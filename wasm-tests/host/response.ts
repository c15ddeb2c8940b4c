/** The status of a response, and its JSON. */
export async function responseOf(
  asked: Promise<Response>,
): Promise<[number, Record<string, unknown>]> {
  const response = await asked;
  return [response.status, (await response.json()) as Record<string, unknown>];
}
