import { listen } from 'mcp-listen/client';

// A page that begins ten sessions with its server, one after the other, and leaves each.
const left = document.body.appendChild(document.createElement('output'));
left.id = 'left';

for (let count = 1; count <= 10; count += 1) {
  const subscription = await listen('/mcp', { toolsListChanged: true }, { revision: '2025' });
  await subscription.close();
  left.value = String(count);
}
