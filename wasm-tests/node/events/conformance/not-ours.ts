/** Checks that no test of a server can make, and why. */
export const NOT_OURS: Readonly<Record<string, string>> = {
  'sep-9999-schema-evolution-additive': 'advice to authors of event types',
  'sep-9999-breaking-change-new-name': 'advice to authors of event types',
  'sep-9999-server-identity-key-discovery':
    'messages are signed with the secret of the client: there is no public key to discover',
  'sep-9999-payload-minimality': 'advice to authors of event types',
};
