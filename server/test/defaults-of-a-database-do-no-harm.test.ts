import { expect } from "vitest";
import { setDefaults } from "./support/databaseDefaults.ts";
import { stageTest as it } from "./support/fixtures.ts";
import { createWebhookTarget } from "./support/items.ts";
import { takesAndGives } from "./support/takesAndGives.ts";
import { signUp } from "./support/testNode.ts";

/*
 * A database, or the role that connects to it, may have defaults for other programs. The service's sessions set
 * the values that its promises need.
 */

const unusual = {
  default_transaction_isolation: "repeatable read",
  array_nulls: "off",
  transform_null_equals: "on",
  bytea_output: "escape",
  datestyle: "German, DMY",
  intervalstyle: "sql_standard",
  timezone: "Asia/Kolkata",
  extra_float_digits: "-5",
  idle_session_timeout: "500ms",
};

it("serves a database with unusual defaults", async ({ pool, start, receiver }) => {
  await setDefaults(pool, unusual);
  const [service, other] = await Promise.all([start(), start()]);
  await takesAndGives(service, receiver);
  const account = await signUp(service);
  const target = await createWebhookTarget(service, account, receiver.url);
  for (let round = 0; round < 10; round++) {
    const headers = { "idempotency-key": `round-${round}` };
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        (index % 2 === 0 ? service : other).call("POST", `/t/${target.id}`, {
          key: account.api_key,
          headers,
          body: { round },
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 202));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  }
  for (const each of [service, other]) {
    expect(await each.stop(), each.output()).toBe(0);
    expect(
      each
        .output()
        .split("\n")
        .filter((line) => /"level":[56]0|lost the connection|a chore failed/.test(line)),
    ).toEqual([]);
  }
});
