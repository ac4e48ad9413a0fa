import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export function hasShell(shell: string): boolean {
  return spawnSync(shell, ["--version"]).status === 0;
}

/** Completions that a real shell offers for a partly typed line. The folder has the completion scripts, named by shell. */
export const offeredBy: Record<string, (folder: string, line: string) => string[]> = {
  bash(folder, line) {
    const words = line.split(" ").map((word) => `'${word}'`);
    const typed = `COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _postrider`;
    const script = `. ./bash; ${typed}; printf '%s\n' "\${COMPREPLY[@]}"`;
    return linesOf(runIn(folder, "bash", ["--norc", "-c", script]));
  },
  zsh(folder, line) {
    writeFileSync(join(folder, "inner"), zshOnTerminal);
    const shown = linesOf(runIn(folder, "zsh", ["-f", "-c", zshTyping, "zsh", line]));
    return shown.flatMap((one) => /HIT (.*)$/.exec(one)?.[1] ?? []);
  },
  fish(folder, line) {
    const shown = runIn(folder, "fish", ["--no-config", "-c", `source ./fish; complete -C "$argv[1]"`, line]);
    return linesOf(shown).map((one) => one.split("\t")[0]!);
  },
};

/** Script for the zsh on the pseudo-terminal (zsh completes only on a terminal). `compadd` prints the matches, then zsh exits. */
const zshOnTerminal = `
PROMPT=
autoload -U compinit; compinit -u -D
. ./zsh
bindkey '^M' undefined-key; bindkey '^J' undefined-key; bindkey '^I' complete-word
leave() { exit }
comppostfuncs=(leave)
compadd() {
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
  local -a hits
  builtin compadd -A hits "$@"
  (( $#hits )) && print -rl -- "HIT "$^hits
}
print -r -- rea""dy
`;

/** Script for the zsh that opens the pseudo-terminal, and types the line and a tab into it. */
const zshTyping = `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z '. ./inner'
while zpty -r z got; do [[ $got == *ready* ]] && break; done
zpty -w -n z $1$'\\t'
while zpty -r z got; do print -rn -- $got; done
`;

function runIn(folder: string, shell: string, args: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync(shell, args, {
    encoding: "utf8",
    cwd: folder,
    env: { PATH: `${folder}:${process.env["PATH"]}`, HOME: folder, TERM: "dumb" },
    timeout: 30_000,
  });
  // The status is not checked: the last command of zsh fails when it finds the terminal closed.
  if (stderr !== "" || status === null) throw new Error(`${shell} ${args.join(" ")}: ${stderr}`);
  return stdout;
}

function linesOf(text: string): string[] {
  return text.split(/\r*\n/).filter((line) => line !== "");
}
