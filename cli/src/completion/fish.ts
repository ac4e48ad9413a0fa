import type { Command } from "../command.ts";
import { choicesOf, placesOf, valuesOf } from "./paths.ts";

/** A script for fish, with what each word means beside it. */
export function fishCompletion(root: Command): string {
  const places = placesOf(root);
  const values = valuesOf(places);
  const deeper = places.filter(({ path }) => path !== "").map(({ path }) => quoted(path));
  const lines = places.flatMap((place) => {
    const condition = quoted(`__postrider_at ${quoted(place.path)}`);
    return choicesOf(place).map(({ word, help }) => {
      const choices = values.get(word);
      const what = word.startsWith("--") ? `-l ${word.slice(2)}` : `-a ${quoted(word)}`;
      const given = choices === undefined ? "" : ` -x -a ${quoted(choices.join(" "))}`;
      return `complete -c postrider -n ${condition} ${what}${given} -d ${quoted(help)}`;
    });
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
${lines.join("\n")}
`;
}

/** fish knows \\' and \\\\ within single quotes. */
function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, String.raw`\$&`)}'`;
}
