import { load } from '../server/load.js';
import module from './module.js';
import './workers-profile.js';

load(() => module);
