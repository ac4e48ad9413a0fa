import type { Command } from "../command.ts";
import { choicesOf, placesOf, quoted, valuesOf } from "./paths.ts";

/** A script for bash: each word that leads deeper into the tree is followed, the rest is offered. */
export function bashCompletion(root: Command): string {
  const places = placesOf(root);
  const deeper = places.filter(({ path }) => path !== "").map(({ path }) => quoted(path));
  const offered = places.map((place) => {
    const words = choicesOf(place).map(({ word }) => word);
    return `    ${quoted(place.path)}) words=${quoted(words.join(" "))} ;;`;
  });
  const values = [...valuesOf(places)].map(
    ([name, choices]) => `    ${name}) words=${quoted(choices.join(" "))} ;;`,
  );
  return `# Completion of postrider for bash: source <(postrider completion bash)
_postrider() {
  local path="" next words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${path:+$path }\${COMP_WORDS[i]}"
    case "$next" in
    ${deeper.join(" | ")}) path="$next" ;;
    esac
  done
  case "$path" in
${offered.join("\n")}
  esac
  case "\${COMP_WORDS[COMP_CWORD - 1]}" in
${values.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _postrider postrider
`;
}
