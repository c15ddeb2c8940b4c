// An endpoint for webhooks: `SECRET=whsec_... node receiver.mjs`.
import { createServer } from 'node:http';
import { toNodeHandler } from 'mcp-listen/node';
import { createWebhookReceiver } from 'mcp-listen/webhook';

const receiver = createWebhookReceiver({
  secrets: process.env.SECRET ?? '',
  onEvent: ({ data, name }) => console.log(name, data),
  onGap: () => console.log('Some events were lost.'),
  onTerminated: ({ code, message }) => console.log('The subscription has ended:', code, message),
});
const port = Number(process.env.PORT ?? 8790);
createServer(toNodeHandler(receiver)).listen(port, '127.0.0.1', () =>
  console.log(`Webhooks are received at http://127.0.0.1:${port}/`),
);
