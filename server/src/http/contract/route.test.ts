import { Type } from "typebox";
import { describe, expect, it } from "vitest";
import { route } from "./route.ts";
import { customerReads, noLimitedKey } from "./scope.ts";

const described = {
  operationId: "tryOut",
  tag: "Operation",
  summary: "For a test",
  response: { 200: Type.Null() },
  handle: () => null,
} as const;

const open = { method: "GET", path: "/tried", credential: "none", ...described } as const;
const ofKeys = { ...open, credential: "apiKey", scope: noLimitedKey } as const;
const fast = () => undefined;

describe("a route's record", () => {
  it("has a schema of the parameters that its path names", () => {
    const { params } = route({ ...open, path: "/a/:first/b/:second_one" });
    expect(params).toMatchObject({
      type: "object",
      required: ["first", "second_one"],
      properties: { first: { type: "string" }, second_one: { type: "string" } },
    });
    expect(route(open)).not.toHaveProperty("params");
  });

  it("types what its handler gets", () => {
    const query = Type.Object({ limit: Type.Integer() });
    const body = Type.Object({ name: Type.String() });
    const record = route({
      ...described,
      method: "PUT",
      path: "/tried/:id",
      credential: "none",
      audit: { none: "a test" },
      query,
      body,
      handle: (call) => [
        call.params.id satisfies string,
        call.query.limit satisfies number,
        call.body.name satisfies string,
        // @ts-expect-error: the path has no such parameter
        call.params.uid,
        // @ts-expect-error: the body has no such field
        call.body.limit,
      ],
    });
    const call = { params: { id: "1" }, query: { limit: 2 }, body: { name: "3" } };
    expect(record.handle(call as never)).toEqual(["1", 2, "3", undefined, undefined]);
  });

  // The compiler checks these lines: a directive without an error below it is one.
  it("is refused by the compiler when a field is missing or contradicts another", () => {
    // @ts-expect-error: a change says what it is on record as, or why it is not
    route({ ...open, method: "POST" });
    // @ts-expect-error: there is no such action in the audit log
    route({ ...open, method: "POST", audit: "tried.out" });
    // @ts-expect-error: reading is not on record
    route({ ...open, audit: "key.created" });
    // @ts-expect-error: a session has a least role
    route({ ...open, credential: "session" });
    // @ts-expect-error: nobody has no role
    route({ ...open, leastRole: "viewer" });
    // @ts-expect-error: a route that takes keys says which limited ones
    route({ ...open, credential: "apiKey" });
    // @ts-expect-error: a session is never limited
    route({ ...open, credential: "session", leastRole: "viewer", scope: noLimitedKey });
    // @ts-expect-error: only routes that check the key in their own transaction have a fast handler
    route({ ...ofKeys, method: "POST", audit: { none: "a test" }, fast });
    // @ts-expect-error: the fast path reads nothing but POST
    route({ ...ofKeys, credential: "apiKeyInSql", fast });
    // @ts-expect-error: the path has a parameter, which the rule has to name
    route({ ...ofKeys, path: "/tried/:id", scope: customerReads("own") });
    // @ts-expect-error: the path has no parameter that could name a target
    route({ ...ofKeys, scope: customerReads("target") });
    // @ts-expect-error: a customer's key is checked by what the path names
    route({ ...ofKeys, scope: { takes: ["customer"] } });
    // @ts-expect-error: the documentation has no such section
    route({ ...open, tag: "Trials" });
    expect(
      route({ ...ofKeys, method: "POST", credential: "apiKeyInSql", audit: { none: "a test" }, fast }),
    ).toHaveProperty("fast");
    expect(route({ ...ofKeys, path: "/tried/:id", scope: customerReads("target") })).toHaveProperty("scope");
  });
});
