// Generated from server/src/postgres/kinds.ts by `npm run generated`.
import type { Target } from "../../../sdk/src/client.ts";

export const targetKindNames: readonly Target["kind"][] = ["webhook", "mailbox", "a2a"];
