import { watch } from 'mcp-listen/client';

// A page that shares its stream with the others of its origin, and shows what it knows.
const state = document.body.appendChild(document.createElement('output'));
const reads = document.body.appendChild(document.createElement('output'));
state.id = 'state';
reads.id = 'reads';
reads.value = '0';

const watched = watch(
  '/mcp',
  { resourceSubscriptions: ['note://todo'] },
  () => {
    reads.value = String(Number(reads.value) + 1);
  },
  { share: true },
);
watched.subscribe(() => {
  state.value = watched.state;
});
