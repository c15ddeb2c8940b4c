/** The part of Deno that the examples use. */
declare const Deno: {
  serve(handler: (request: Request) => Promise<Response>): unknown;
  serve(
    options: { hostname: string; port: number },
    handler: (request: Request) => Promise<Response>,
  ): { shutdown(): Promise<void> };
  addSignalListener(signal: 'SIGTERM', handler: () => Promise<void>): void;
  exit(): never;
};

/** The part of Bun that the examples use. */
declare const Bun: {
  serve(options: {
    hostname: string;
    port: number;
    idleTimeout: number;
    fetch: (request: Request) => Promise<Response>;
  }): {
    stop(): Promise<void>;
  };
};
