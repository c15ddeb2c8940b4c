// An MCP server of fastmcp; `node server.ts` starts it. A gateway in front of it listens to it, on
// behalf of all clients.
import { FastMCP } from 'fastmcp';

let isOn = false;

const lamp = new FastMCP({ name: 'lamp', version: '1.0.0' });

lamp.addResource({
  uri: 'lamp://desk',
  name: 'desk',
  mimeType: 'text/plain',
  load: async () => ({ text: isOn ? 'on' : 'off' }),
});

lamp.addTool({
  name: 'switch',
  description: 'Switches the lamp',
  execute: async () => {
    isOn = !isOn;
    await lamp.sendResourceUpdated('lamp://desk');
    return 'Switched.';
  },
});

const port = Number(process.env.PORT ?? 8000);
await lamp.start({ transportType: 'httpStream', httpStream: { port, host: '127.0.0.1' } });
