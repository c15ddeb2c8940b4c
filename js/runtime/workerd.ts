import { load } from '../load.js';
import module from './module.js';
import './workers.js';

load(() => module);
