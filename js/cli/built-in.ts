/** Constants that the build inserts into the script: see scripts/build/cli.mjs. */
declare const BUILT_IN: {
  version: string;
  /** The dependencies of a new project, with their versions. */
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  /** The oldest version of Node that wrangler runs on. */
  wranglerNode: string;
  /** The files of examples/worker by name. */
  template: Record<string, string>;
};

export const { version, dependencies, devDependencies, template, wranglerNode } = BUILT_IN;
