/** The long form of `derived-lives.test.ts`. */
import './derived-lives.test.js';
