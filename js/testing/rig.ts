import type { BusPlace, CountingPlace } from './place.js';

/** Two servers that share a bus, in two processes if the bus connects processes. */
export interface BusRig {
  here: BusPlace;
  there: BusPlace;
  stop(): Promise<unknown>;
}

/** A rig whose buses count the streams of callers. */
export interface CountingRig extends BusRig {
  here: CountingPlace;
  there: CountingPlace;
}

/** A rig that can deliver texts that are not events. */
export interface OpenRig extends BusRig {
  /** Passes a text to the broker. Resolves with false if the broker refuses it. */
  garbage(text: string): Promise<unknown>;
  /** Returns the number of messages that the bus `there` has dropped. */
  dropped(): Promise<number>;
}

/** A rig that can disconnect a server from the bus. */
export interface CutRig extends BusRig {
  /** Disconnects `there`, runs `meanwhile`, and connects it again. */
  absence(meanwhile: () => Promise<void>): Promise<void>;
}

/** A rig that can kill the broker of the bus. */
export interface MortalRig extends BusRig {
  /** Kills the broker, runs `meanwhile`, and starts the broker again without any stored data. */
  loss(meanwhile: () => Promise<void>): Promise<void>;
}

/** A rig that can close the bus. */
export interface ClosableRig extends BusRig {
  /** Closes the bus `there`. */
  close(): Promise<unknown>;
}

/** One promise, as a test on a rig that earlier tests may have used. */
export interface BusTestOn<In> {
  name: string;
  keeps(rig: In): Promise<void>;
}
