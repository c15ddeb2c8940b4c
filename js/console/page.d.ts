/** The files of the page, which `scripts/build/console.mjs` writes to page/. */
declare module '#page' {
  /**
   * The files by their names. In the text of `index.html`, `{{endpoint}}` stands for the
   * endpoint that it connects to at first, and `{{page}}` for the page itself.
   */
  export const files: Record<string, { text: string } | { base64: string }>;
}
