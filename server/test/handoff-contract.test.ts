import { describe, expect } from "vitest";
import { examineCard } from "../src/handoff/card/examineCard.ts";
import { parseNetworks } from "../src/outbound/addressGuard.ts";
import { createOutbound } from "../src/outbound/outbound.ts";
import { requestAgentTarget } from "./support/agentTargets.ts";
import { answerJson, wholeCard } from "./support/cardServer.ts";
import { signUp } from "./support/testNode.ts";
import { sharedNodeTest } from "./support/fixtures.ts";
import { loopbackTargets } from "./support/fixtures.ts";
import { placesOfText } from "./support/placesOfText.ts";

const it = sharedNodeTest(loopbackTargets);

describe("an a2a target", () => {
  it("stores its bearer token only encrypted", async ({ node, cards }) => {
    const token = "a-token-that-nobody-else-has";
    const account = await signUp(node);
    const auth = { type: "bearer", token };
    expect((await requestAgentTarget(node, account, { agent_card_url: cards.url, auth })).status).toBe(200);
    expect(await placesOfText(node.pool, token)).toEqual([]);
    expect(await placesOfText(node.pool, cards.url)).not.toEqual([]);
  });

  it("is refused when its card's interface is not HTTPS, unless the operator allows that", async ({
    cards,
  }) => {
    const networks = parseNetworks(["127.0.0.0/8"]);
    const outbound = createOutbound({
      allowHttp: true,
      networks,
      userAgent: "test",
      connectTimeoutMs: 1000,
      maxConnectionsPerOrigin: 1,
    });
    const examine = (allowHttpTargets: boolean) =>
      examineCard({ outbound, networks, config: { allowHttpTargets } }, { url: cards.url, etag: null });
    cards.answer = (response) => answerJson(response, wholeCard(`${cards.origin}/a2a`));
    expect(await examine(false)).toEqual({
      kind: "bad",
      problem: expect.stringMatching(
        /^names an interface whose URL .* must use https: http needs POSTRIDER_ALLOW_HTTP_TARGETS=true$/,
      ),
    });
    expect(await examine(true)).toMatchObject({ kind: "good" });
    outbound.close();
  });
});
