/** The long form of `wandb.test.ts`. */
import './wandb.test.js';
