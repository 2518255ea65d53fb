/** The library: every module that is not part of the repository. */
import type { Library } from '../importer.js';
import { OTHER_MODULES } from './others.js';
import { TORCH_MODULES } from './torch.js';
import { TRANSFORMER_ENGINE_MODULES } from './transformer-engine.js';

export const LIBRARY: Library = new Map([...TORCH_MODULES, ...TRANSFORMER_ENGINE_MODULES, ...OTHER_MODULES]);
