import { expect, it } from "vitest";
import { replayTools } from "./replayTools.ts";

const [, replayItems] = replayTools;

/** Runs `replay_items` where a dry run counts `count` items before its time is over. */
function confirm(confirmCount: number, count: number) {
  return replayItems!.run(
    { confirm_count: confirmCount },
    {
      callInterface: ({ body }) => {
        const isDryRun = (body as { dry_run?: boolean }).dry_run === true;
        const answer = isDryRun ? { count, count_is_exact: false, sample: [] } : { id: "a" };
        return Promise.resolve(Buffer.from(JSON.stringify(answer)));
      },
      signal: new AbortController().signal,
      onUndelivered: () => undefined,
    },
  );
}

it("replay_items takes the confirmed count for a count that stopped earlier this time, and for no higher one", async () => {
  expect(await confirm(400, 380)).toMatchObject({ is_started: true, replay_id: "a" });
  expect(await confirm(400, 400)).toMatchObject({ is_started: true });
  expect(await confirm(400, 420)).toMatchObject({ is_started: false, replay_id: null });
  expect(await confirm(0, 0)).toMatchObject({ is_started: false });
});
