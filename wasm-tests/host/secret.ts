/** The secret of publishers in tests. */
export const SECRET = 'open-sesame-open-sesame';
/** The token of operators in tests. */
export const OPERATOR = 'operate-sesame-operate-sesame';
