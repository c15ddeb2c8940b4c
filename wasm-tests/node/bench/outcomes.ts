import type { Metric } from '../../../bench/harness/experiment.ts';
import type { Outcome } from '../../../bench/harness/outcome.ts';

export const RATE: Metric = { id: 'rate', title: 'rate', unit: 'frames/s', better: 'more' };
export const CPU: Metric = { id: 'cpu', title: 'processor', unit: 'us/event', better: 'less' };

/**
 * Evidence for S1: the SDK delivers 1 and the limit costs 1; ours are multiples of them, and the
 * SDK costs `ours` times ours.
 */
export function dense(ours: number, cost: number): Outcome {
  const standing = (name: string, rate: number, cpu: number) => {
    return { name, includes: '', points: [{ x: 0, rounds: [{ rate, cpu }] }] };
  };
  const contenders = [
    standing('mcp-listen', ours, cost),
    standing('TypeScript SDK', 1, ours * cost),
    standing('enqueue only', 12, 1),
  ];
  return { name: 'dense', title: 'dense', proves: ['S1'], metrics: [RATE, CPU], contenders };
}
