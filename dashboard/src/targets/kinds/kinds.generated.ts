// Generated from server/src/postgres/kinds.ts by `npm run generated`: each kind's value from the file of its name.
import type { Target } from "../../api/shapes.ts";
import type { Kind } from "./kind.ts";
import { a2a } from "./a2a.tsx";
import { mailbox } from "./mailbox.tsx";
import { webhook } from "./webhook.tsx";

export const kindsByName: Record<Target["kind"], Kind> = { webhook, mailbox, a2a };
