/** A server in a separate process. */
export interface LoadServer {
  /** The endpoint that opens streams. */
  listen: URL;
  /** The same endpoint in each isolate that holds streams. Default: `listen` alone. */
  isolates?: URL[];
  /** Publishes a POST of `{"uris": [...]}`, one change after another, and then responds. */
  publish: URL;
  /** How many sockets the object of the bus has. Absent if the server has no such object. */
  sockets?: URL;
  /** The id of its process. */
  pid: number;
  stop(): Promise<unknown>;
}

/** Asks the server to publish changes; resolves once they are published. */
export async function publish({ publish: url }: LoadServer, uris: string[]): Promise<void> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ uris }) });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`a publish got status ${response.status} ${text}`);
}
