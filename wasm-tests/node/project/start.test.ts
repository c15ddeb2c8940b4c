import { expect, test } from 'vitest';
import { variablesOf } from '../../../scripts/start/variables.mjs';

const TOKENS = { publish: 'of-publishers-only', operator: 'of-operators-only' };

test('npm start serves metrics if its environment has a token for them', () => {
  const METRICS_TOKEN = 'of-sixteen-bytes';
  expect(variablesOf(TOKENS, { METRICS_TOKEN })).toMatchObject({ METRICS_TOKEN });
  expect(variablesOf(TOKENS, {})).not.toHaveProperty('METRICS_TOKEN');
});

test('npm start passes on the number of subrequests', () => {
  expect(variablesOf(TOKENS, { SUBREQUESTS: '50' })).toMatchObject({ SUBREQUESTS: '50' });
});

test('npm start has one token for publishers and another one for operators', () => {
  expect(variablesOf(TOKENS, {})).toMatchObject({
    PUBLISH_TOKEN: TOKENS.publish,
    OPERATOR_TOKEN: TOKENS.operator,
  });
});
