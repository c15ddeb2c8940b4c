/** The capabilities of every measured server. */
export const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};

/** The name of every measured server. */
export const SERVER_INFO = { name: 'bench', version: '1.0.0' };
