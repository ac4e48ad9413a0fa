import { expect, it } from "vitest";
import { itemTools } from "./itemTools.ts";
import { mailboxTools } from "./mailboxTools.ts";
import { targetTools } from "./targetTools.ts";

const tools = [...itemTools, ...mailboxTools, ...targetTools];

it.for([
  ["answer_handoff", "INPUT_REQUIRED or AUTH_REQUIRED"],
  ["get_item", "without its artifacts"],
  ["claim_messages", "Default: 300"],
  ["extend_messages", "Default: 300"],
  ["claim_messages", "may not list targets"],
  ["mailbox_stats", "may not list targets"],
] as const)("an agent reads in the description of %s: %s", ([name, text]) => {
  expect(JSON.stringify(tools.find((tool) => tool.name === name))).toContain(text);
});
