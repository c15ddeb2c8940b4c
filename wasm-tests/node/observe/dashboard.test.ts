import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { metricsText } from 'mcp-listen';
import { describe, expect, test } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { serving } from '../serving.ts';

const stats = serving().stats();
const BUS = { attached: 0, position: 0, sessions: 0, webhooks: 0 };
const exported = seriesOf(metricsText(stats, BUS));

describe('the dashboard', async () => {
  const dashboard = JSON.parse(await text('tools/grafana/mcp-listen.json')) as Dashboard;
  const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

  test.each(queries)('reads numbers that a server exports: %s', (query) => {
    const { invalid, labels, metrics } = readQuery(query);
    expect(invalid).toBe(false);
    expect(metrics.length).toBeGreaterThan(0);
    for (const name of metrics) {
      expect(exported, name).toHaveProperty(name);
      const known = new Set([...Object.keys(exported[name] ?? {}), ...OF_PROMETHEUS]);
      for (const label of labels) expect(known, `${name} of ${query}`).toContain(label);
    }
    for (const reason of reasonsIn(query)) expect(REASONS).toContain(reason);
  });

  test('shows every number that a server exports', () => {
    const read = new Set(queries.flatMap((query) => readQuery(query).metrics));
    expect([...read].sort()).toEqual(Object.keys(exported).sort());
  });

  test('leads from each panel to a section of the runbook', async () => {
    const sections = headings(await text('docs/runbook.md'));
    for (const { description, title } of dashboard.panels)
      expect(sections, title).toContain(description.replace('docs/runbook.md#', ''));
  });
});

describe('the runbook', async () => {
  const runbook = await text('docs/runbook.md');

  test('explains every metric', () => {
    const families = metricsText(stats, BUS).matchAll(/^# TYPE (\S+)/gm);
    const withReasons = ['mcp_listen_streams_ended_total', 'mcp_listen_requests_refused_total'];
    const explained = rowsOf(runbook).filter((name) => name.startsWith('mcp_listen_'));
    expect([...explained, ...withReasons].sort()).toEqual(
      [...families].map(([, name = '']) => name).sort(),
    );
    for (const name of withReasons) expect(runbook).toContain(`\`${name}\` counts`);
  });

  test.each([
    ['Why streams end', Object.keys(stats.ended)],
    ['Why requests are refused', Object.keys(stats.refused)],
  ])('explains every reason: %s', (section, reasons) => {
    const [, after = ''] = runbook.split(`\n## ${section}\n`);
    const [table = ''] = after.split('\n## ');
    expect(rowsOf(table).sort()).toEqual([...reasons].sort());
  });

  test('has alerts that a Prometheus reads', () => {
    const [, after = ''] = runbook.split('\n## Alerts\n');
    const [table = ''] = after.split('\n## ');
    const alerts = [...table.matchAll(/^\| [^|]+ \| `(.*?)`/gm)].map(([, query = '']) =>
      query.replaceAll('\\|', '|'),
    );
    expect(alerts.length).toBeGreaterThan(4);
    for (const alert of alerts) {
      const { invalid, metrics } = readQuery(alert);
      expect(invalid, alert).toBe(false);
      for (const name of metrics) expect(exported).toHaveProperty(name);
      for (const reason of reasonsIn(alert)) expect(REASONS).toContain(reason);
    }
  });
});

interface Dashboard {
  panels: { title: string; description: string; targets: { expr: string }[] }[];
}

/** The labels of each series that a text of the Prometheus format has. */
function seriesOf(metrics: string): Record<string, Record<string, true>> {
  const series: Record<string, Record<string, true>> = {};
  for (const [, name = '', labels = ''] of metrics.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    series[name] ??= {};
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) series[name][label] = true;
  }
  return series;
}

/** Parses a query with Grafana's and Prometheus' own grammar. */
function readQuery(query: string) {
  // Grafana replaces its variables before Prometheus parses the query.
  const replaced = query.replaceAll('$__rate_interval', '5m');
  const found = { invalid: false, metrics: [] as string[], labels: [] as string[] };
  parser.parse(replaced).iterate({
    enter({ from, name, to, type }) {
      const part = replaced.slice(from, to);
      if (type.isError) found.invalid = true;
      if (name === 'Identifier' && part.startsWith('mcp_listen_')) found.metrics.push(part);
      if (name === 'LabelName') found.labels.push(part);
    },
  });
  return found;
}

function reasonsIn(query: string): string[] {
  const [, list] = /reason=~?"([^"]*)"/.exec(query) ?? [];
  return list?.split('|') ?? [];
}

/** The names in the first column of the tables of a page. */
function rowsOf(page: string): string[] {
  return [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name);
}

function headings(page: string): string[] {
  return [...page.matchAll(/^## (.*)$/gm)].map(([, title = '']) =>
    title.toLowerCase().replaceAll(' ', '-'),
  );
}

function text(path: string): Promise<string> {
  return readFile(join(root, path), 'utf8');
}

/** Labels that Prometheus adds when it scrapes. */
const OF_PROMETHEUS = ['job', 'instance'];
const REASONS = [...Object.keys(stats.ended), ...Object.keys(stats.refused)];
