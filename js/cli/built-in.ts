/** What the build puts into the script: see scripts/build/cli.mjs. */
declare const BUILT_IN: {
  version: string;
  /** What a new project depends on, and with which versions. */
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  /** The files of examples/worker by their names. */
  template: Record<string, string>;
};

export const { version, dependencies, devDependencies, template } = BUILT_IN;
