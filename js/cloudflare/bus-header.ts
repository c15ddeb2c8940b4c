/** On every upgrade of an edge: a socket without it is not one of ours. */
export const BUS_HEADER = 'mcp-listen-bus';
