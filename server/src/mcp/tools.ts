import { eventTypeTools } from "./eventTypeTools.ts";
import { itemTools } from "./itemTools.ts";
import { mailboxTools } from "./mailboxTools.ts";
import { publicationTools } from "./publicationTools.ts";
import { replayTools } from "./replayTools.ts";
import { targetTools } from "./targetTools.ts";
import type { Tool } from "./tool.ts";

/** What agents can do, over either transport. No tool takes an address or shows a secret. */
export const tools: readonly Tool[] = [
  ...targetTools(),
  ...eventTypeTools(),
  ...itemTools(),
  ...publicationTools(),
  ...replayTools(),
  ...mailboxTools(),
];
