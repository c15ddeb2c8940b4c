/** The status of a response, and its JSON. */
export async function answerOf(
  answer: Promise<Response>,
): Promise<[number, Record<string, unknown>]> {
  const response = await answer;
  return [response.status, (await response.json()) as Record<string, unknown>];
}
