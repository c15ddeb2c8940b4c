import { isText, textFrame, textOf } from './frames.ts';
import type { Rule, Tunnel } from './wire.ts';

/** A pseudo-random source, the same in each run. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Applies `spoil` to this share of the events, and passes all other frames. */
export function some(share: number, spoil: Rule, chance = seeded(1)): Rule {
  return (frame, tunnel) => {
    if (isEvent(frame) && chance() < share) spoil(frame, tunnel);
    else tunnel.toEdge(frame);
  };
}

/** Loses the frame. */
export const dropped: Rule = () => {};

/** Passes the frame twice. */
export const duplicated: Rule = (frame, tunnel) => {
  tunnel.toEdge(frame);
  tunnel.toEdge(frame);
};

/** Passes half of the frame's text. */
export const truncated: Rule = (frame, tunnel) => {
  const text = textOf(frame);
  tunnel.toEdge(textFrame(text.slice(0, text.length / 2)));
};

/** Passes the frame with positions that are larger by `by`, as if the log had jumped. */
export function jumped(by: number): Rule {
  return (frame, tunnel) => {
    const later = (_: string, key: string, position: string) => `"${key}":${Number(position) + by}`;
    tunnel.toEdge(textFrame(textOf(frame).replace(POSITIONS, later)));
  };
}

/** Passes the frame `ms` later. */
export function delayed(ms: number): Rule {
  return (frame, tunnel) => void setTimeout(() => tunnel.toEdge(frame), ms);
}

/** Passes this share of the events after the next frame. */
export function swapped(share: number, chance = seeded(1)): Rule {
  return (frame, tunnel) => {
    const held = tunnel.memory.get('held') as Buffer | undefined;
    tunnel.memory.delete('held');
    if (held === undefined && isEvent(frame) && chance() < share) {
      tunnel.memory.set('held', frame);
      return;
    }
    tunnel.toEdge(frame);
    if (held !== undefined) tunnel.toEdge(held);
  };
}

/** Passes this share of the events after the next chosen event of the same socket. */
export function swappedFar(share: number, chance = seeded(1)): Rule {
  return (frame, tunnel) => {
    const isChosen = isEvent(frame) && chance() < share;
    const held = tunnel.memory.get('held') as Buffer | undefined;
    if (isChosen && held === undefined) {
      tunnel.memory.set('held', frame);
      return;
    }
    tunnel.toEdge(frame);
    if (!isChosen || held === undefined) return;
    tunnel.memory.delete('held');
    tunnel.toEdge(held);
  };
}

/** Ends the tunnel instead of passing the frame. */
export function closed(code?: number): Rule {
  return (_, tunnel) => tunnel.cut(code);
}

/** Removes the previous position from the batches of the bus. */
export const withoutPrevious: Rule = (frame, tunnel: Tunnel) => {
  if (!isText(frame)) return tunnel.toEdge(frame);
  tunnel.toEdge(textFrame(textOf(frame).replace(/"previous":\d+,?/, '')));
};

function isEvent(frame: Buffer): boolean {
  return isText(frame) && textOf(frame).includes('"type":"batch"');
}

/** The members of a batch that are positions in the log. */
const POSITIONS = /"(previous|through|position)":(\d+)/g;
