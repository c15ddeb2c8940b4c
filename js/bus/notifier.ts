import { ListenError } from '../model/error.js';
import type { ChangeEvent } from '../model/event.js';
import type { TaskState } from '../model/task.js';
import { type PublishContext, publishing, type Tracing } from '../observe/tracing.js';
import type { ListenBus } from './bus.js';
import type { EmitOptions, EventReceipt } from './events.js';

/** Options of a {@link Notifier} call. */
export interface NotifyOptions extends PublishContext {
  /**
   * Only streams whose callers have this group receive it. Without it, all streams do.
   *
   * @default undefined
   */
  group?: string;
}

/**
 * Publishes changes. Each call resolves once the bus has the change, even without any listener, and
 * rejects with a `ListenError` if the bus did not accept it.
 */
export interface Notifier {
  /** The list of tools changed. */
  toolsChanged(options?: NotifyOptions): Promise<void>;
  /** The list of prompts changed. */
  promptsChanged(options?: NotifyOptions): Promise<void>;
  /** The list of resources changed. */
  resourcesChanged(options?: NotifyOptions): Promise<void>;
  /** The list of event types changed (MCP Events). */
  eventsChanged(options?: NotifyOptions): Promise<void>;
  /** The content of the resource `uri` changed. */
  resourceUpdated(uri: string, options?: NotifyOptions): Promise<void>;
  /** The state of a task changed; `task` is its whole current state. */
  taskStatus(task: TaskState, options?: NotifyOptions): Promise<void>;
  /**
   * Something happened: publishes an occurrence of MCP Events, whose payload is checked by the
   * schema of its type. Rejects with `events-unavailable` without the option `events`, and with
   * what `emit` of the bus rejects with.
   */
  event(name: string, data: Record<string, unknown>, options?: EmitOptions): Promise<EventReceipt>;
}

/**
 * Returns a notifier that publishes on `bus`. With `tracing`, each publish is a span. `event`
 * publishes occurrences.
 */
export function notifierOn(
  bus: ListenBus,
  tracing?: Tracing,
  event: Notifier['event'] = withoutEvents,
): Notifier {
  const publish = async (change: ChangeEvent, options: NotifyOptions = {}): Promise<void> => {
    const { group } = options;
    const event =
      group === undefined ? change : { kind: 'for_group' as const, group, event: change };
    if (tracing === undefined) await bus.publish(event);
    else await publishing(tracing, change.kind, options, () => bus.publish(event));
  };
  return {
    toolsChanged: (context) => publish({ kind: 'tools_list_changed' }, context),
    promptsChanged: (context) => publish({ kind: 'prompts_list_changed' }, context),
    resourcesChanged: (context) => publish({ kind: 'resources_list_changed' }, context),
    eventsChanged: (context) => publish({ kind: 'events_list_changed' }, context),
    resourceUpdated: (uri, context) => publish({ kind: 'resource_updated', uri }, context),
    taskStatus: (task, context) => publish({ kind: 'task_status', task }, context),
    event,
  };
}

async function withoutEvents(): Promise<never> {
  throw new ListenError('events-unavailable', 'the server defines no events');
}
