/** The files of the page, which `scripts/build/console.mjs` writes to page/. */
declare module '#page' {
  /**
   * The files by their names. In the text of `index.html`, `{{origin}}` stands for the origin of
   * the request.
   */
  export const files: Record<string, { text: string } | { base64: string }>;
}
