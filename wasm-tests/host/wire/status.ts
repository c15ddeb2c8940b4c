import { request } from 'node:http';

/** The parts of a request that a test sets. */
export interface RequestParts {
  method?: string;
  /** Header fields, `host` included, which `fetch` would not send. */
  headers: Record<string, string>;
  body?: string;
}

/** Sends a request; resolves with the status of its response. */
export function statusAt(
  url: URL,
  { body, headers, method = 'GET' }: RequestParts,
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.once('error', reject).end(body);
  });
}
