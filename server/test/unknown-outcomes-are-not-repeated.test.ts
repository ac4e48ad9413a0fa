import { expect } from "vitest";
import { createClient } from "../../sdk/src/client.ts";

import { citusUrl } from "./support/citus.ts";
import { stageTest as it } from "./support/fixtures.ts";
import { createTestNode, signUp } from "./support/testNode.ts";

it.skipIf(citusUrl !== undefined)(
  "a target created by a request whose answer was lost is not created a second time",
  async ({ database, proxy, onTestFinished }) => {
    const node = createTestNode({ ...database, connection: { url: proxy.url }, url: proxy.url });
    onTestFinished(() => node.stop());
    const { api_key: apiKey } = await signUp(node);
    const client = createClient({ baseUrl: await node.listen(), apiKey });
    const swallowed = proxy.swallowAnswerOf("commit");
    const asked = client.createTarget({ kind: "mailbox", name: "once" });
    await expect(asked).rejects.toMatchObject({
      status: 503,
      code: "outcome_unknown",
      message: expect.stringContaining("may have had an effect"),
    });
    await swallowed;
    const { targets } = await client.listTargets();
    expect(targets.map(({ name }) => name)).toEqual(["once"]);
  },
);
