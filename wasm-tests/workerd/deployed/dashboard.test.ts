import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workerBundle } from '../../../scripts/build/build.mjs';
import { root } from '../../../scripts/process/project.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { LegacySession } from '../../host/legacy.ts';
import { listen } from '../../host/listen.ts';
import { retried } from '../../host/retried.ts';
import { BEARER, SECRET } from '../../host/signing.ts';

let workerd: Workerd;
/** What a busy Worker exports. */
let exported: Exported;

beforeAll(async () => {
  workerd = await startWorkerd({
    bundle: workerBundle,
    edges: 1,
    text: { DEMO_CALLERS: 'on', PUBLISH_TOKEN: SECRET, METRICS_TOKEN },
  });
  const [origin = ''] = workerd.edges;
  await makeBusy(origin);
  exported = readExported(await scrape(origin));
});
afterAll(() => workerd?.stop());

describe('the dashboard', async () => {
  const dashboard = JSON.parse(await text('tools/grafana/mcp-listen.json')) as Dashboard;
  const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

  test.each(queries)('reads samples of a busy Worker: %s', (query) => expectSamples(query));

  test('shows every number that a Worker exports', () => {
    const read = new Set(queries.flatMap((query) => metricsOf(query)));
    expect([...read].sort()).toEqual([...new Set(exported.samples.map(({ name }) => name))].sort());
  });

  test('leads from each panel to a section of the runbook', async () => {
    const sections = headings(await text('docs/runbook.md'));
    for (const { description, title } of dashboard.panels)
      expect(sections, title).toContain(description.replace('docs/runbook.md#', ''));
  });
});

test('the Worker is so busy that it has something of everything that a healthy one has', () => {
  const { samples } = exported;
  const names = [...new Set(samples.map(({ name }) => name))];
  const isZero = (metric: string) =>
    samples.every(({ name, value }) => name !== metric || value === 0);
  const ofFaults = ['streams_away', 'outages_total', 'gaps_total', 'resyncs_total'];
  const none = [...ofFaults, 'bus_webhooks'].map((name) => `mcp_listen_${name}`);
  expect(names.filter((name) => isZero(name) && !none.includes(name))).toEqual([]);
});

describe('the runbook', async () => {
  const runbook = await text('docs/runbook.md');

  test('explains every metric', () => {
    const withReasons = [ENDED, REFUSED];
    const explained = rowsOf(runbook).filter((name) => name.startsWith('mcp_listen_'));
    expect([...explained, ...withReasons].sort()).toEqual([...exported.families].sort());
    for (const name of withReasons) expect(runbook).toContain(`\`${name}\` counts`);
  });

  test.each([
    ['Why streams end', ENDED],
    ['Why requests are refused', REFUSED],
  ])('explains every reason: %s', (section, metric) => {
    const [, after = ''] = runbook.split(`\n## ${section}\n`);
    const [table = ''] = after.split('\n## ');
    const samples = exported.samples.filter(({ name }) => name === metric);
    expect(rowsOf(table).sort()).toEqual(samples.map(({ labels }) => labels['reason']).sort());
  });

  test('has alerts that read samples of a busy Worker', () => {
    const [, after = ''] = runbook.split('\n## Alerts\n');
    const [table = ''] = after.split('\n## ');
    const alerts = [...table.matchAll(/^\| [^|]+ \| `(.*?)`/gm)].map(([, query = '']) =>
      query.replaceAll('\\|', '|'),
    );
    expect(alerts.length).toBeGreaterThan(4);
    for (const alert of alerts) expectSamples(alert);
  });
});

/** Opens and ends streams, begins a session, publishes, and has a request refused. */
async function makeBusy(origin: string): Promise<void> {
  const filter = { toolsListChanged: true, resourceSubscriptions: ['note://busy'] };
  const streams = await Promise.all(
    ['1', '2'].map((id) => listen(`${origin}/mcp`, filter, { id })),
  );
  for (const stream of streams) await stream.message();
  await LegacySession.begin((init) => fetch(`${origin}/mcp`, init));
  const refused = await listen(`${origin}/mcp`, filter, { headers: { accept: 'text/html' } });
  expect(refused.response.status).toBe(406);
  // Changes of one resource in one request collapse.
  const change = { kind: 'resource_updated', uri: 'note://busy' };
  await publish(origin, [change, change, change]);
  for (const stream of streams) await stream.message();
  streams[1]?.drop();
  // workerd notices that a client has left when it writes.
  await retried(async () => {
    await publish(origin, { kind: 'tools_list_changed' });
    expect(await scrape(origin)).toMatch(/^mcp_listen_streams_ended_total\{reason="left"\} [1-9]/m);
  });
}

async function publish(origin: string, body: object): Promise<void> {
  const init = { method: 'POST', headers: BEARER, body: JSON.stringify(body) };
  expect((await fetch(`${origin}/publish`, init)).status).toBe(200);
}

async function scrape(origin: string): Promise<string> {
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  return (await fetch(`${origin}/metrics`, { headers })).text();
}

interface Dashboard {
  panels: { title: string; description: string; targets: { expr: string }[] }[];
}

interface Exported {
  families: string[];
  samples: { name: string; labels: Record<string, string>; value: number }[];
}

/** Reads a text of the Prometheus format. */
function readExported(metrics: string): Exported {
  const samples = [...metrics.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(
    ([, name = '', labels = '', value]) => ({
      name,
      labels: Object.fromEntries(
        [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, text]) => [label, text]),
      ),
      value: Number(value),
    }),
  );
  const families = [...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
  return { families, samples };
}

/** Checks that each selector of a query, with each value that it names, matches a sample. */
function expectSamples(query: string): void {
  const { grouping, isValid, selectors } = readQuery(query);
  expect(isValid, query).toBe(true);
  expect(selectors.length).toBeGreaterThan(0);
  for (const { matchers, metric } of selectors) {
    const series = exported.samples.filter(({ name }) => name === metric);
    expect(series, metric).not.toEqual([]);
    for (const { label, values } of matchers)
      for (const value of values)
        expect(
          series.map(({ labels }) => labels[label]),
          `${metric} of ${query}`,
        ).toContain(value);
    for (const label of grouping)
      for (const { labels } of series) expect(labels, query).toHaveProperty(label);
  }
}

function metricsOf(query: string): string[] {
  return readQuery(query).selectors.map(({ metric }) => metric);
}

/** Parses a query with Grafana's and Prometheus' own grammar. */
function readQuery(query: string) {
  // Grafana replaces its variables before Prometheus parses the query.
  const replaced = query.replaceAll('$__rate_interval', '5m');
  const found = { isValid: true, selectors: [] as Selector[], grouping: [] as string[] };
  const textOf = (node: { from: number; to: number } | null) =>
    node === null ? '' : replaced.slice(node.from, node.to);
  parser.parse(replaced).iterate({
    enter({ name, node, type }) {
      if (type.isError) found.isValid = false;
      if (name === 'GroupingLabels')
        found.grouping.push(...node.getChildren('LabelName').map(textOf));
      if (name !== 'VectorSelector') return;
      const matchers = (node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [])
        .map((matcher) => ({
          label: textOf(matcher.getChild('LabelName')),
          values: textOf(matcher.getChild('StringLiteral')).slice(1, -1).split('|'),
        }))
        .filter(({ label }) => !OF_PROMETHEUS.includes(label));
      found.selectors.push({ metric: textOf(node.getChild('Identifier')), matchers });
    },
  });
  return found;
}

interface Selector {
  metric: string;
  matchers: { label: string; values: string[] }[];
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
const ENDED = 'mcp_listen_streams_ended_total';
const REFUSED = 'mcp_listen_requests_refused_total';
const METRICS_TOKEN = 'a-token-for-metrics';
