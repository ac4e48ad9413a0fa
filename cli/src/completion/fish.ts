import type { Command } from "../command.ts";
import {
  choicesOf,
  listingOf,
  type Names,
  type Place,
  placesOf,
  type ValuedOption,
  valuedOptions,
} from "./paths.ts";

/** Completion script for fish, with a description of each completion. */
export function fishCompletion(root: Command): string {
  const places = placesOf(root);
  const valued = new Map(valuedOptions(places).map((option) => [option.flag, option]));
  const deeper = places.filter(({ path }) => path !== "").map(({ path }) => quoted(path));
  const lines = places.flatMap((place) => {
    const line = (rest: string): string => `complete -c postrider -n ${conditionOf(place)} ${rest}`;
    const lines = choicesOf(place).map(({ word, help }) => {
      const option = valued.get(word);
      const what = word.startsWith("--") ? `-l ${word.slice(2)}` : `-a ${quoted(word)}`;
      const given = option === undefined ? "" : ` ${givenTo(option)}`;
      return line(`${what}${given} -d ${quoted(help)}`);
    });
    if (place.names !== undefined) lines.push(line(`-a ${quoted(asking(place.names))}`));
    if (place.takesFiles) lines.push(line("-F"));
    return lines;
  });
  return `# Completion of postrider for fish: postrider completion fish | source
function __postrider_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        set -l next (string trim -- "$at $word")
        if contains -- "$next" ${deeper.join(" ")}
            set at "$next"
        end
    end
    test "$at" = "$argv[1]"
end
complete -c postrider -f
${lines.join("\n")}
`;
}

function conditionOf({ path }: Place): string {
  return quoted(`__postrider_at ${quoted(path)}`);
}

/** Arguments of `complete` for the value of an option: the values or files that it offers. */
function givenTo({ choices, names, takesFiles }: ValuedOption): string {
  if (takesFiles) return "-r -F";
  return `-x -a ${quoted(names === undefined ? choices.join(" ") : asking(names))}`;
}

function asking(names: Names): string {
  return `(postrider ${listingOf(names)} 2>/dev/null)`;
}

/** fish knows \\' and \\\\ within single quotes. */
function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, String.raw`\$&`)}'`;
}
