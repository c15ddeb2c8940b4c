import { host } from '../../model/host-profile.js';

// What a request does not own it may not use: each stream has its own timer.
host.fansOut = false;
