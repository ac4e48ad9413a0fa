import type { Command } from "../command.ts";
import { caseOf, casesOf, choicesOf, listingOf, type Place, quoted, type ValuedOption } from "./paths.ts";

/** Completion script for bash: it finds the typed command in the tree, and offers that command's completions. */
export function bashCompletion(root: Command): string {
  const { places, deeper, valued } = casesOf(root);
  // Names from users must not be passed to compgen -W, which would expand them.
  return `# Completion of postrider for bash: source <(postrider completion bash)
_postrider() {
  local path="" next words="" names="" files="" current="\${COMP_WORDS[COMP_CWORD]}" word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${path:+$path }\${COMP_WORDS[i]}"
    case "$next" in ${deeper}) path="$next" ;; esac
  done
  ${caseOf('"$path"', places.map(ofPlace))}
  ${caseOf('"${COMP_WORDS[COMP_CWORD - 1]}"', valued.map(ofOption))}
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ -n "$names" && "$current" != -* ]]; then
    while IFS= read -r word; do
      [[ "$word" == "$current"* ]] && printf -v word %q "$word" && COMPREPLY+=("$word")
    done < <("\${COMP_WORDS[0]}" $names 2>/dev/null)
  fi
  if [[ -n "$files" ]]; then compopt -o default 2>/dev/null; fi
}
complete -F _postrider postrider
`;
}

function ofPlace(place: Place): string {
  const words = choicesOf(place).map(({ word }) => word);
  const names = place.names === undefined ? "" : ` names=${quoted(listingOf(place.names))}`;
  const files = place.takesFiles ? " files=1" : "";
  return `    ${quoted(place.path)}) words=${quoted(words.join(" "))}${names}${files} ;;`;
}

function ofOption({ flag, choices, names, takesFiles }: ValuedOption): string {
  const listing = names === undefined ? "" : listingOf(names);
  const files = takesFiles ? "1" : "";
  return `    ${flag}) words=${quoted(choices.join(" "))} names=${quoted(listing)} files=${files} ;;`;
}
