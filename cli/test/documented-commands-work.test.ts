import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { databaseCommands } from "../../server/src/process/databaseCommands.ts";
import { commands } from "../src/commands.ts";
import { findCommand, readInput } from "../src/readInput.ts";
import { clientTest as it } from "./support/clientTest.ts";
import { run } from "./support/command.ts";

const docs = new URL("../../docs/", import.meta.url);
/** Commands that run until they are stopped; other tests cover them. */
const endless = /^(listen|item tail|mailbox work) ?/;
/** The lines of a page's shell blocks that call the command. */
function linesOf(page: string): string[] {
  const blocks = readFileSync(new URL(page, docs), "utf8").matchAll(/^```sh\n(.*?)^```/gms);
  return [...blocks]
    .flatMap(([, text]) => text!.split("\n"))
    .filter((line) => /(^| )postrider [a-z]/.test(line));
}

function wordsOf(text: string): string[] {
  return [...text.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!);
}

describe("every command in the documentation", () => {
  it("for clients works, in the order of the page", async ({ service, receiver, account, place }) => {
    writeFileSync(join(place, "order.json"), '{"order": 1001}');
    const filter = { payload: { amount: [{ numeric: [">=", 100] }] } };
    writeFileSync(join(place, "filter.json"), JSON.stringify(filter));
    const openapi = { openapi: "3.1.0", webhooks: { "order.created": { post: {} } } };
    writeFileSync(join(place, "openapi.json"), JSON.stringify(openapi));
    // No key in the environment: the page's own login stores it.
    const env = { XDG_CONFIG_HOME: place };
    for (const line of linesOf("command-line.md").filter((one) => !one.startsWith("source"))) {
      const [before, after] = line.split(/(?:^|\| )postrider /) as [string, string];
      const args = wordsOf(after).map((word) =>
        word
          .replace("http://127.0.0.1:8080", service.url)
          .replace("https://shop.example/hooks", receiver.url)
          .replace(/^(openapi|filter)\.json$/, (name) => join(place, name))
          .replace("order.json", join(place, "order.json"))
          .replace(/^20$/, after.includes("--wait") ? "1" : "20"),
      );
      if (endless.test(after)) {
        // Only parsed: `readInput` throws for a wrong argument.
        readInput(findCommand(commands, args));
        continue;
      }
      const input = args[0] === "login" ? account.api_key : (wordsOf(before)[1] ?? "");
      const { code, err } = await run(args, { env, input });
      // A replay finds no failed item.
      const isEmptyReplay = args[0] === "replay" && code === 4;
      expect([code === 0 || isEmptyReplay, err], line).toEqual([true, expect.any(String)]);
    }
  });

  it("for operators exists", () => {
    for (const line of linesOf("backup.md")) {
      const [name, ...args] = wordsOf(line.split("postrider ").at(-1)!) as [string, ...string[]];
      const read = databaseCommands[name];
      if (read === undefined) throw new Error(`there is no command "${name}": ${line}`);
      expect(() => read(args), line).not.toThrow();
    }
  });
});
