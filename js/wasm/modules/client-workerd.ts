import { load } from '../client/load.js';
import module from './client-module.js';

load(() => module);
