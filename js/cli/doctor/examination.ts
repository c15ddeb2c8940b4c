import type { Report } from './report.js';
import type { Endpoint } from './wire/endpoint.js';

/** One examination of a server. */
export interface Examination {
  endpoint: Endpoint;
  report: Report;
  options: ExaminationOptions;
}

/** What the examination may do, and how long it waits. Times are in milliseconds. */
export interface ExaminationOptions {
  /** The tool that causes a change; undefined calls none. */
  call: ToolCall | undefined;
  /** A resource to subscribe to; undefined uses the first one of the list. */
  uri: string | undefined;
  /** How long a change, and an acknowledgment, may take. */
  waitMs: number;
  /** How long a stream may be silent before a keep-alive has to come. */
  keepAliveMs: number;
  /** Whether to wait until the server ends a stream. */
  untilEnd: boolean;
}

/** A tool that causes a change each time that it is called. */
export interface ToolCall {
  name: string;
  /** Returns the parameters of the next call. */
  params(): { name: string; arguments: object };
}

/** The name and version that the examination sends to the server. */
export const CLIENT = { name: 'mcp-listen-doctor', version: '1.0.0' };
