/**
 * Returns the variables of the Worker that `npm start` serves: those that enable what a deployment
 * disables, since only this machine is served, and those of `environment` that set the allowed
 * hosts or the token of metrics, or make the Worker a gateway.
 * @param {{ publish: string, operator: string }} tokens of publishers and of operators
 * @param {NodeJS.ProcessEnv} environment
 * @returns {Record<string, string>}
 */
export function variablesOf({ operator, publish }, environment = {}) {
  const tokens = { PUBLISH_TOKEN: publish, OPERATOR_TOKEN: operator };
  return { ...everythingOn, ...tokens, ...fromEnvironment(environment) };
}

/** @param {NodeJS.ProcessEnv} environment */
function fromEnvironment(environment) {
  return Object.fromEntries(
    names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
  );
}

const everythingOn = {
  ...{ CONSOLE: 'on', DEMO_CALLERS: 'on', NOTEBOOK_WRITE: 'on', STATS_OPEN: 'on' },
  ALLOWED_HOSTS: 'localhost,127.0.0.1,[::1]',
};
const names = [
  ...['UPSTREAM', 'UPSTREAM_TOKEN', 'UPSTREAM_WATCH', 'UPSTREAM_RIGHTS', 'TENANTS', 'TENANT_NAMES'],
  ...['EVENTS', 'EVENTS_RIGHTS', 'WEBHOOK_KEY', 'CREDENTIAL_HEADERS', 'UNKNOWN_METHOD'],
  ...['SUBREQUESTS', 'ALLOWED_HOSTS', 'METRICS_TOKEN'],
];
