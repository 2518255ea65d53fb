import { describe, expect, it } from 'vitest';
import { loadData } from '../../src/knowledge/load-data.js';
import { checkShape } from './schema.js';

describe('data files of the log parser have their shape', () => {
  it.each([['log-examples', { '*': 'string' }]] as const)('%s', (name, shape) => {
    expect(checkShape(loadData(name), shape)).toEqual([]);
  });
});
