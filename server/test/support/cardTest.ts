import type { ServerResponse } from "node:http";
import { requestAgentTarget } from "./agentTargets.ts";
import { answerJson } from "./cardServer.ts";
import { file, loopbackTargets, sharedNodeTest } from "./fixtures.ts";
import type { Answer } from "./testNode.ts";

/** Fixtures for tests of agents whose cards the test serves. */
export const cardTest = sharedNodeTest(loopbackTargets)
  .extend(
    "create",
    ({ node, account, cards }) =>
      (fields: Record<string, unknown> = {}): Promise<Answer> =>
        requestAgentTarget(node, account, { agent_card_url: cards.url, ...fields }),
  )
  .extend("serve", ({ cards }) => (document: unknown, headers: Record<string, string> = {}): void => {
    cards.answer = (response: ServerResponse) => answerJson(response, document, headers);
  })
  .extend("read", file, ({ node, account }) => async (id: string) => {
    const { body } = await node.call("GET", `/api/v1/targets/${id}`, { key: account.api_key });
    return body as Record<string, unknown>;
  })
  .extend(
    "refresh",
    file,
    ({ node, account }) =>
      (id: string, body?: unknown): Promise<Answer> =>
        node.call("POST", `/api/v1/targets/${id}/refresh`, {
          key: account.api_key,
          ...(body !== undefined && { body }),
        }),
  );
