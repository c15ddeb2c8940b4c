/** The secret of publishers in tests. */
export const SECRET = 'open-sesame-open-sesame';
