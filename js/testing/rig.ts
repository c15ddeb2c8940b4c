import type { BusPlace } from './place.js';

/** Two places that share a bus: two processes where the bus connects processes. */
export interface BusRig {
  here: BusPlace;
  there: BusPlace;
  stop(): Promise<unknown>;
}

/** Something can arrive from outside that is no event. */
export interface OpenRig extends BusRig {
  /** Hands a text to what carries the bus; false: that refuses such a text. */
  garbage(text: string): Promise<unknown>;
  /** How many messages the bus has dropped, there. */
  dropped(): Promise<number>;
}

/** The connection between a place and the bus can be cut. */
export interface CutRig extends BusRig {
  /** Cuts `there` off, and brings it back after `meanwhile`. */
  absence(meanwhile: () => Promise<void>): Promise<void>;
}

/** What carries the bus can be killed. */
export interface MortalRig extends BusRig {
  /** Kills it, and brings it back after `meanwhile` without anything that it had kept. */
  loss(meanwhile: () => Promise<void>): Promise<void>;
}

/** The bus can be closed. */
export interface ClosableRig extends BusRig {
  /** Closes the bus there. */
  close(): Promise<unknown>;
}

/** One promise, as a test on a rig that others have used before. */
export interface BusPromiseOn<In> {
  name: string;
  keeps(rig: In): Promise<void>;
}
