/**
 * From a name to the id of a commit. Only ids are ever handed on to git: a name could be read as an option or a range.
 */
import { MbfError } from '../model/errors.js';
import { askGit, type Repository } from './repository.js';

/** A whole id: SHA-1, or SHA-256. */
export const WHOLE_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/**
 * The id of the commit that a revision (id or its beginning, branch, tag, `HEAD~2`) names.
 *
 * @throws MbfError MBF1008 if the repository lacks the commit
 */
export async function resolveRevision(repository: Repository, revision: string): Promise<string> {
  const fail = (why: string): never => {
    throw new MbfError('MBF1008', `no commit ${JSON.stringify(revision)} in it${why}`, { file: repository.root });
  };
  // What begins with a dash would be an option; `--end-of-options` would do, but `rev-parse` knows it since 2.30 only.
  // `--verify` refuses ranges.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (revision === '' || revision.startsWith('-') || /[\u0000-\u001f]/.test(revision)) return fail('');
  const args = ['rev-parse', '--verify', '--quiet', `${revision}^{commit}`];
  const { status, text } = await askGit(repository, args);
  const id = text.trim();
  if (status === 0 && WHOLE_ID.test(id)) return id;
  const shallow = await askGit(repository, ['rev-parse', '--is-shallow-repository']);
  return fail(shallow.text.trim() === 'true' ? ', which is a shallow clone (`git fetch --unshallow`)' : '');
}

/** Whether a repository has the commit of a whole id: a submodule's checkout may be older than its pin. */
export async function hasCommit(repository: Repository, id: string): Promise<boolean> {
  if (!WHOLE_ID.test(id)) return false;
  return (await askGit(repository, ['cat-file', '-e', `${id}^{commit}`])).status === 0;
}
