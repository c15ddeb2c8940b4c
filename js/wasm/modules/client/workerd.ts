import { load } from '../../client/load.js';
import module from './module.js';

load(() => module);
