/**
 * Removes the variables with which a package can be published, or the repository changed, from
 * these environments. Returns them.
 * @param {NodeJS.ProcessEnv[]} environments
 * @returns {NodeJS.ProcessEnv}
 */
export function takeCredentials(...environments) {
  /** @type {NodeJS.ProcessEnv} */
  const taken = {};
  for (const environment of environments) {
    for (const [name, value] of Object.entries(environment)) {
      if (!CREDENTIAL.test(name)) continue;
      taken[name] = value;
      delete environment[name];
    }
  }
  return taken;
}

/** The names of these variables: identities of CI, tokens of registries and of the repository. */
const NAMES = [
  'ACTIONS_(ID_TOKEN|RUNTIME)_.*|.*_ID_TOKEN|(GITHUB|GH|GITLAB|CI_JOB)_TOKEN',
  'CARGO_REGISTR(Y|IES)_.*|NODE_AUTH_TOKEN|NPM_.*TOKEN|NPM_CONFIG_.*AUTH.*',
];
const CREDENTIAL = new RegExp(`^(${NAMES.join('|')})$`, 'i');
