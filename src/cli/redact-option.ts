import { flag, option } from './options.js';

export const REDACT = flag('--redact', 'replace names of users, hosts, paths, projects and private code');
export const KEY = option('--key <file>', 'names file of an earlier bundle, or any secret file: the same names again');
