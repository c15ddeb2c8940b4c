/** Maps figures to places along an axis of an image. */
export interface Scale {
  place(value: number): number;
  ticks: number[];
}

/** A logarithmic scale if figures span a decade and none is 0, otherwise a linear one from 0. */
export function scaleOf(values: number[], from: number, to: number): Scale {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low > 0 && high / low >= 10 ? logarithmic(low, high, from, to) : linear(high, from, to);
}

/** A scale from 0 to `high`. */
export function linear(high: number, from: number, to: number): Scale {
  const step = stepOf(high / 5);
  const top = Math.max(step, Math.ceil(high / step) * step);
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) =>
    Number((index * step).toPrecision(6)),
  );
  return { place: (value) => from + (value / top) * (to - from), ticks };
}

function logarithmic(low: number, high: number, from: number, to: number): Scale {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
  return {
    place: (value) => from + ((Math.log10(value) - first) / (last - first)) * (to - from),
    ticks,
  };
}

/** The next of 1, 2, 5, 10, 20 ... */
function stepOf(least: number): number {
  const decade = 10 ** Math.floor(Math.log10(least || 1));
  return (STEPS.find((step) => step * decade >= least) ?? 10) * decade;
}

const STEPS = [1, 2, 5, 10];
