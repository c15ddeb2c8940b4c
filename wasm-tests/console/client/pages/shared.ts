import { watch } from 'mcp-listen/client';

// A page that shares its stream with the others of its origin, and shows its state.
const state = document.body.appendChild(document.createElement('output'));
const error = document.body.appendChild(document.createElement('output'));
const reads = document.body.appendChild(document.createElement('output'));
state.id = 'state';
error.id = 'error';
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
const show = () => {
  error.value = watched.error?.code ?? '';
  state.value = watched.state;
};
watched.subscribe(show);
show();
