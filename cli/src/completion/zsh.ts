import type { Command } from "../command.ts";
import { caseOf, casesOf, choicesOf, listingOf, type Place, quoted, type ValuedOption } from "./paths.ts";

/** Completion script for zsh, with a description of each completion. */
export function zshCompletion(root: Command): string {
  const { places, deeper, valued } = casesOf(root);
  return `#compdef postrider
# Completion of postrider for zsh: source <(postrider completion zsh)
_postrider() {
  local at="" next word names="" files=""
  local -a choices found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    next="\${at:+$at }$word"
    case "$next" in ${deeper}) at="$next" ;; esac
  done
  ${caseOf('"$at"', places.map(ofPlace))}
  ${caseOf('"${words[CURRENT-1]}"', valued.map(ofOption))}
  if [[ -n "$names" && "$PREFIX" != -* ]]; then
    found=("\${(@f)$("\${words[1]}" \${=names} 2>/dev/null)}")
    compadd -a found
  fi
  (( \${#choices} )) && _describe 'postrider' choices
  [[ -n "$files" ]] && _files
}
(( \${+functions[compdef]} )) || { autoload -U compinit && compinit; }
compdef _postrider postrider
`;
}

function ofPlace(place: Place): string {
  const words = choicesOf(place).map(({ word, help }) => quoted(`${word}:${help}`));
  const names = place.names === undefined ? "" : ` names=${quoted(listingOf(place.names))}`;
  const files = place.takesFiles ? " files=1" : "";
  return `    ${quoted(place.path)}) choices=(${words.join(" ")})${names}${files} ;;`;
}

function ofOption({ flag, choices, names, takesFiles }: ValuedOption): string {
  const listing = names === undefined ? "" : listingOf(names);
  const files = takesFiles ? "1" : "";
  return `    ${flag}) choices=(${choices.map(quoted).join(" ")}) names=${quoted(listing)} files=${files} ;;`;
}
