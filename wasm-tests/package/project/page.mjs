import * as client from 'mcp-listen/client';
import { scenario } from './scenario.mjs';

export const listened = scenario(client, location.origin);
