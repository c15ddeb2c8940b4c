// What the page uses of the client of this package. Imported only when it is needed: this module is
// ready once the core has arrived, and the page does not wait for that.
export { events, watch } from 'mcp-listen/client';
