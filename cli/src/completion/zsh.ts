import type { Command } from "../command.ts";
import { choicesOf, placesOf, quoted, valuesOf } from "./paths.ts";

/** A script for zsh, with what each word means beside it. */
export function zshCompletion(root: Command): string {
  const places = placesOf(root);
  const deeper = places.filter(({ path }) => path !== "").map(({ path }) => quoted(path));
  const offered = places.map((place) => {
    const words = choicesOf(place).map(({ word, help }) => quoted(`${word}:${help}`));
    return `    ${quoted(place.path)}) choices=(${words.join(" ")}) ;;`;
  });
  const values = [...valuesOf(places)].map(([name, choices]) => {
    return `    ${name}) choices=(${choices.map(quoted).join(" ")}) ;;`;
  });
  return `#compdef postrider
# Completion of postrider for zsh: source <(postrider completion zsh)
_postrider() {
  local at="" next word
  local -a choices
  for word in "\${(@)words[2,CURRENT-1]}"; do
    next="\${at:+$at }$word"
    case "$next" in
    ${deeper.join(" | ")}) at="$next" ;;
    esac
  done
  case "$at" in
${offered.join("\n")}
  esac
  case "\${words[CURRENT-1]}" in
${values.join("\n")}
  esac
  (( \${#choices} )) && _describe 'postrider' choices
  _files
}
(( \${+functions[compdef]} )) || { autoload -U compinit && compinit; }
compdef _postrider postrider
`;
}
