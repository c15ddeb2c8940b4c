/** The files of the page, which `scripts/build/console.mjs` writes to page/. */
declare module '#page' {
  /** HTML, in which `{{origin}}` stands for the origin of the request. */
  export const html: string;
  export const script: string;
  export const style: string;
  /** The core of the client, as base64 text. */
  export const core: string;
}
