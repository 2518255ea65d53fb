/** Configuration and environment as logs print them. */
import type { LogFormat } from './contract.js';
import { bridgeSummary } from './settings/bridge-summary.js';
import { deepspeedConfig } from './settings/deepspeed-config.js';
import { megatronArguments } from './settings/megatron-arguments.js';
import { configObject, configOverrides, modelConfig, trainingArguments } from './settings/python-objects.js';
import {
  commandBlock,
  commandLine,
  envLine,
  ncclEnvironment,
  shellTrace,
  slurmDirective,
} from './settings/shell-lines.js';
import { flatYaml, nemoExperiment, targetTree } from './settings/yaml-blocks.js';

export const SETTINGS_FORMATS: readonly LogFormat[] = [
  megatronArguments,
  bridgeSummary,
  targetTree,
  nemoExperiment,
  deepspeedConfig,
  trainingArguments,
  configObject,
  modelConfig,
  configOverrides,
  shellTrace,
  commandBlock,
  commandLine,
  flatYaml,
  slurmDirective,
  envLine,
  ncclEnvironment,
];
