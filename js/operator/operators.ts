import type { AttachableBus } from '../bus/attachable-bus.js';
import type { BusOperator, OperatedStreams } from '../bus/operator/operator.js';
import { ListenError } from '../model/error.js';
import { ProcessOperator } from './process-operator.js';

/** Registers the operator of a server on its bus. */
export function setOperator(server: object, bus: AttachableBus, streams: OperatedStreams): void {
  OPERATORS.set(server, bus.operate?.(streams) ?? new ProcessOperator(bus, streams));
}

/** Lets an adapter that has the members of a server be operated as that server; returns it. */
export function operatedAs<Adapter extends object>(adapter: Adapter, server: object): Adapter {
  OPERATORS.set(adapter, operatorOf(server));
  return adapter;
}

/**
 * Returns the operator of a server.
 *
 * @throws ListenError `invalid-options` if this package did not create the server.
 */
export function operatorOf(server: object): BusOperator {
  const operator = OPERATORS.get(server);
  if (operator !== undefined) return operator;
  throw new ListenError('invalid-options', 'server must be a result of createListenHandler');
}

const OPERATORS = new WeakMap<object, BusOperator>();
