/** Where a trace comes from, as OpenTelemetry's `SpanContext` has it. */
export interface RemoteSpan {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  /** 1: sampled. */
  traceFlags: number;
  /** It comes from another process. */
  isRemote: true;
}

/** What a `traceparent` of W3C's Trace Context says; undefined where it is none. */
export function remoteSpan(traceparent: string | null | undefined): RemoteSpan | undefined {
  const [, version = '', traceId = '', spanId = '', flags = '', more] = FORM.exec(traceparent ?? '') ?? [];
  // What later versions add is not looked at; the first has nothing to add.
  if (version === '' || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (NOTHING.test(traceId) || NOTHING.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NOTHING = /^0+$/;
