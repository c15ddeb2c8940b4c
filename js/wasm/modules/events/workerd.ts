import { load } from '../../events/load.js';
import module from './module.js';

load(() => module);
