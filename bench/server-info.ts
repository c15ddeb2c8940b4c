/** The capabilities of every server that is measured. */
export const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};

/** The name of every server that is measured. */
export const SERVER_INFO = { name: 'bench', version: '1.0.0' };
