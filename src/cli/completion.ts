/** Shell completion and the man page, from the verbs and options that the help is made of. */
import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Verbs, each with what may follow it: verbs inside it, and options. */
const completed = (program: Command) =>
  program.commands.map((command) => ({
    name: command.name(),
    summary: command.description(),
    words: [
      ...command.commands.map((inner) => [inner.name(), inner.description()] as const),
      ...command
        .createHelp()
        .visibleOptions(command)
        .map(({ flags, long, description }) => [long ?? flags, description] as const),
    ],
  }));
type Completed = ReturnType<typeof completed>[number];

export function completionScript(shell: Shell, program: Command): string {
  const verbs = completed(program);
  if (shell === 'bash') return bash(verbs);
  return shell === 'zsh' ? zsh(verbs) : fish(verbs);
}

/** In single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function bash(verbs: readonly Completed[]): string {
  const cases = verbs.map(
    ({ name, words }) => `    ${name}) words=${quoted(words.map(([word]) => word).join(' '))} ;;`,
  );
  return `# bash completion of mbforensics; the first word is a verb or a path
_mbforensics() {
  local current=\${COMP_WORDS[COMP_CWORD]} words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=${quoted(verbs.map(({ name }) => name).join(' '))}
  else
    case \${COMP_WORDS[1]} in
${cases.join('\n')}
    *) words='' ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
}
complete -o filenames -F _mbforensics mbforensics
`;
}

function zsh(verbs: readonly Completed[]): string {
  const described = (name: string, text: string): string =>
    quoted(`${name.replaceAll(':', '\\:')}:${text.replaceAll('`', '')}`);
  const cases = verbs.map(
    ({ name, words }) => `    ${name}) mbf_words=(${words.map((word) => described(...word)).join(' ')}) ;;`,
  );
  return `#compdef mbforensics
# zsh completion of mbforensics; the first word is a verb or a path
_mbforensics() {
  local -a mbf_words
  if (( CURRENT == 2 )); then
    mbf_words=(${verbs.map(({ name, summary }) => described(name, summary)).join(' ')})
  else
    case \${words[2]} in
${cases.join('\n')}
    esac
  fi
  _describe mbforensics mbf_words
  _files
}
if [ "$funcstack[1]" = _mbforensics ]; then _mbforensics; else compdef _mbforensics mbforensics; fi
`;
}

function fish(verbs: readonly Completed[]): string {
  const lines = verbs.flatMap(({ name, summary, words }) => [
    `complete -c mbforensics -n __fish_use_subcommand -a ${name} -d ${fishQuoted(summary)}`,
    ...words.map(([word, help]) => {
      // In fish, names of options are without `=`: such an option is offered as a word.
      const offered = /^--[^=]*$/.test(word) ? `-l ${word.slice(2)}` : `-a ${word}`;
      return `complete -c mbforensics -n '__fish_seen_subcommand_from ${name}' ${offered} -d ${fishQuoted(help)}`;
    }),
  ]);
  return `# fish completion of mbforensics; the first word is a verb or a path\n${lines.join('\n')}\n`;
}

const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** A page of section 1 in the man macros of roff. */
export function manPage(program: Command, version: string): string {
  const lines = [
    `.TH MBFORENSICS 1 "" "mbforensics ${version}" "User Commands"`,
    '.SH NAME',
    `mbforensics \\- ${roff(program.description())}`,
    '.SH SYNOPSIS',
    '.B mbforensics',
    '[\\fIPATH\\fR...]',
    '.br',
    '.B mbforensics',
    '\\fIVERB\\fR [\\fIoptions\\fR]',
    '.SH DESCRIPTION',
    'A path is diagnosed. Several paths are one run, and \\- is standard input. The verbs answer further questions.',
    '.SH VERBS',
  ];
  for (const command of program.commands) {
    const help = command.createHelp();
    lines.push('.SS', `${roff(command.name())} ${roff(command.usage())}`, '.PP', roff(command.description()));
    for (const option of help.visibleOptions(command))
      lines.push('.TP', `\\fB${roff(option.flags)}\\fR`, roff(option.description || option.flags));
    for (const inner of command.commands)
      lines.push('.TP', `\\fB${roff(`${command.name()} ${inner.name()}`)}\\fR`, roff(inner.description()));
  }
  lines.push('.SH EXIT STATUS', '0 done, 1 a finding (with \\-\\-exit\\-code, and from gates), 2 usage, 3 undecided,');
  lines.push('4 an input failed or nothing was usable, 5 store, 70 a bug.', '');
  return lines.join('\n');
}

/** A line that begins with a dot or a quote would be a request. */
function roff(text: string): string {
  const escaped = text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll(/\s+/g, ' ');
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}
