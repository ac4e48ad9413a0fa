import type { Command } from "../command.ts";
import { bashCompletion } from "../completion/bash.ts";
import { fishCompletion } from "../completion/fish.ts";
import { zshCompletion } from "../completion/zsh.ts";
import { UsageError } from "../exitCodes.ts";

const shells: Record<string, (root: Command) => string> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** @param root returns the tree of all commands; a function, because this command is itself in the tree. */
export function completionCommand(root: () => Command): Command {
  return {
    name: "completion",
    words: "<shell>",
    wordChoices: Object.keys(shells),
    summary: "print a completion script for bash, zsh or fish",
    details: `bash:  source <(postrider completion bash)
zsh:   source <(postrider completion zsh)
fish:  postrider completion fish | source`,
    isLocal: true,
    async run({ out }, { words }) {
      const script = shells[words[0]!];
      if (script === undefined)
        throw new UsageError(`the shell must be one of ${Object.keys(shells).join(", ")}`);
      out.raw(script(root()));
    },
  };
}
