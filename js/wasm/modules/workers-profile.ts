import { host } from '../../model/host-profile.js';

// A request must not use what belongs to another one, so each stream has its own timer.
host.fansOut = false;
