import { host } from '../host.js';

// Streams would keep an old deployment alive.
host.maxAgeMs = 900_000;
// What a request does not own it may not use: each stream has its own timer.
host.fansOut = false;
