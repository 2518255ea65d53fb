/** Ends of sample stacks that many rules share: how torch calls a module, and what trainers look like above it. Innermost first. */

/** Between a module's `forward` and its caller (torch 2.0 and later; before, `_call_impl` alone). */
export function moduleCall(packages: string): readonly string[] {
  return [
    `_call_impl ${packages}/torch/nn/modules/module.py`,
    `_wrapped_call_impl ${packages}/torch/nn/modules/module.py`,
  ];
}

/** Between an optimizer's `step` and its caller. */
export function optimizerStep(packages: string): readonly string[] {
  return [`_use_grad ${packages}/torch/optim/optimizer.py`, `wrapper ${packages}/torch/optim/optimizer.py`];
}

/** Above the outermost module in `transformers.Trainer.train`. */
export function trainerStep(packages: string): readonly string[] {
  return [
    `compute_loss ${packages}/transformers/trainer.py`,
    `training_step ${packages}/transformers/trainer.py`,
    ...trainerLoop(packages),
  ];
}

export function trainerLoop(packages: string): readonly string[] {
  return [
    `_inner_training_loop ${packages}/transformers/trainer.py`,
    `train ${packages}/transformers/trainer.py`,
    'main /workspace/finetune/run_clm.py',
    '<module> /workspace/finetune/run_clm.py',
  ];
}

export const SCRIPT: readonly string[] = ['main /home/user/project/train.py', '<module> /home/user/project/train.py'];

export const CONDA = '/opt/conda/lib/python3.11/site-packages';
export const DIST = '/usr/local/lib/python3.12/dist-packages';
export const VENV = '/home/user/project/.venv/lib/python3.12/site-packages';
