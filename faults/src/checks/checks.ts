import { mailboxLeaseSeconds } from "../world/world.ts";
import { acceptedItemsEnd } from "./acceptedItemsEnd.ts";
import { answersAreDocumented } from "./answersAreDocumented.ts";
import { attemptsAreOnRecord } from "./attemptsAreOnRecord.ts";
import type { Check } from "./check.ts";
import { claimsDoNotOverlap } from "./claimsDoNotOverlap.ts";
import { claimsKeepTheOrder } from "./claimsKeepTheOrder.ts";
import { logsKeepSecrets } from "./logsKeepSecrets.ts";
import { nothingIsInvented } from "./nothingIsInvented.ts";
import { nothingIsLeft } from "./nothingIsLeft.ts";
import { oneItemPerKey } from "./oneItemPerKey.ts";
import { oneTaskPerHandoff } from "./oneTaskPerHandoff.ts";
import { oneUsageRecordPerItem } from "./oneUsageRecordPerItem.ts";
import { publicationsAreWhole } from "./publicationsAreWhole.ts";
import { replaysMakeOneEach } from "./replaysMakeOneEach.ts";

/** The checks of a run, by name. */
export const checks: Readonly<Record<string, Check>> = {
  "accepted items end": acceptedItemsEnd,
  "nothing is invented": nothingIsInvented,
  "one item per idempotency key": oneItemPerKey,
  "one usage record per item": oneUsageRecordPerItem,
  "attempts are on record": attemptsAreOnRecord,
  "claims do not overlap": claimsDoNotOverlap(mailboxLeaseSeconds * 1000),
  "claims keep the order": claimsKeepTheOrder,
  "publications are whole": publicationsAreWhole,
  "one task per handoff": oneTaskPerHandoff,
  "replays make one of each": replaysMakeOneEach,
  "answers are documented ones": answersAreDocumented,
  "logs keep secrets": logsKeepSecrets,
  "nothing is left": nothingIsLeft,
};
