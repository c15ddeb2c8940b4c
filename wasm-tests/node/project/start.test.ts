import { expect, test } from 'vitest';
import { variablesOf } from '../../../scripts/start/variables.mjs';

test('npm start serves metrics if its environment has a token for them', () => {
  const METRICS_TOKEN = 'of-sixteen-bytes';
  expect(variablesOf('secret', { METRICS_TOKEN })).toMatchObject({ METRICS_TOKEN });
  expect(variablesOf('secret', {})).not.toHaveProperty('METRICS_TOKEN');
});
