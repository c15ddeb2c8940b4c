import { createWebhookReceiver } from 'mcp-listen/webhook';

interface Env {
  HOOK_SECRET: string;
  PENDING_SECRET: string;
}

const handled: unknown[] = [];

const receiver = createWebhookReceiver<[Env, ExecutionContext]>({
  secrets: (_subscription, _request, env) => ({
    active: env.HOOK_SECRET,
    pending: env.PENDING_SECRET,
  }),
  async onEvent(event) {
    const { waitMs = 0 } = event.data as { waitMs?: number };
    await scheduler.wait(waitMs);
    handled.push(event.eventId);
  },
  onGap: ({ cursor }) => handled.push({ cursor }),
  onTerminated: ({ code }) => handled.push({ code }),
  maxRequestBodySize: 4_096,
});

/** Receives messages, and responds to a GET with what was handled. */
export default {
  fetch: async (request, env, ctx) =>
    request.method === 'GET' ? Response.json(handled) : receiver.fetch(request, env, ctx),
} satisfies ExportedHandler<Env>;
