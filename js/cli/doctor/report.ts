/** The outcome of a check. */
export type Outcome = 'ok' | 'warning' | 'failure' | 'skipped';

/** The revision of MCP that a check is about. */
export type TestedRevision = '2026-07-28' | '2025-11-25';

/** What one check found. */
export interface Finding {
  /** A stable name. */
  check: string;
  revision: TestedRevision;
  outcome: Outcome;
  /** One sentence. */
  text: string;
  /** What it breaks for which clients, one sentence each; empty unless something is wrong. */
  breaks: readonly string[];
}

/** What is known about the server. */
export interface ServerFacts {
  name?: string;
  version?: string;
  /** The revisions that it announces. */
  revisions: string[];
  /** Milliseconds from a listen request to its acknowledgment. */
  ackMs?: number;
}

/** Collects findings. */
export class Report {
  readonly findings: Finding[] = [];
  readonly server: ServerFacts = { revisions: [] };

  /** Adds what the server says about itself, of which only texts are used. */
  introduce(info: unknown, revisions: readonly unknown[]): void {
    const { name, version } = (info ?? {}) as Record<string, unknown>;
    if (typeof name === 'string') this.server.name = name;
    if (typeof version === 'string') this.server.version = version;
    const added = revisions.filter((revision) => typeof revision === 'string');
    this.server.revisions = [...new Set([...this.server.revisions, ...added])];
  }

  /** Adds a check that found nothing wrong. */
  ok(revision: TestedRevision, check: string, text: string): void {
    this.#add('ok', revision, check, text);
  }

  /** Adds a check that could not be made. */
  skip(revision: TestedRevision, check: string, text: string): void {
    this.#add('skipped', revision, check, text);
  }

  /** Adds what is allowed, and harms some clients. */
  warn(
    revision: TestedRevision,
    check: string,
    text: string,
    breaks: readonly string[] = [],
  ): void {
    this.#add('warning', revision, check, text, breaks);
  }

  /** Adds what no client can cope with. */
  fail(
    revision: TestedRevision,
    check: string,
    text: string,
    breaks: readonly string[] = [],
  ): void {
    this.#add('failure', revision, check, text, breaks);
  }

  /** Counts the findings with an outcome. */
  count(outcome: Outcome): number {
    return this.findings.filter((finding) => finding.outcome === outcome).length;
  }

  #add(
    outcome: Outcome,
    revision: TestedRevision,
    check: string,
    text: string,
    breaks: readonly string[] = [],
  ) {
    this.findings.push({ check, revision, outcome, text, breaks });
  }
}
