/** A server under load, in a process of its own. */
export interface LoadServer {
  /** Where streams are opened. */
  listen: URL;
  /** The same in each isolate that holds streams; without it there is one. */
  isolates?: URL[];
  /**
   * Where `{"uris": [...]}` is posted to have those changes published, one after another; answers
   * once they are.
   */
  publish: URL;
  /** Its process. */
  pid: number;
  stop(): Promise<unknown>;
}

/** Has changes published; resolves once the server has done so. */
export async function publish({ publish: url }: LoadServer, uris: string[]): Promise<void> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ uris }) });
  const text = await response.text();
  if (response.status !== 200)
    throw new Error(`a publish was answered with ${response.status} ${text}`);
}
