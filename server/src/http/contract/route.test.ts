import { Type } from "typebox";
import { describe, expect, it } from "vitest";
import { anyone, keys, keysCheckedInSql, users } from "./access.ts";
import { routesOf } from "./route.ts";
import { customerReads, noLimitedKey } from "./scope.ts";

const route = routesOf("Operation");

const described = {
  summary: "For a test",
  response: { 200: Type.Null() },
  handle: () => null,
} as const;

const open = { ...described, access: anyone } as const;
const ofKeys = { ...described, access: keys(noLimitedKey) } as const;
const none = { audit: { none: "a test" } } as const;
const fast = () => undefined;

describe("a route's record", () => {
  it("has a schema of the parameters that its path names", () => {
    const { method, path, params } = route("tryOut", "GET /a/:first/b/:second_one", open)();
    expect([method, path]).toEqual(["GET", "/a/:first/b/:second_one"]);
    expect(params).toMatchObject({
      type: "object",
      required: ["first", "second_one"],
      properties: { first: { type: "string" }, second_one: { type: "string" } },
    });
    expect(route("tryOut", "GET /tried", open)()).not.toHaveProperty("params");
  });

  it("types what its handler gets", () => {
    const query = Type.Object({ limit: Type.Integer() });
    const body = Type.Object({ name: Type.String() });
    const record = route("tryOut", "PUT /tried/:id", {
      ...open,
      ...none,
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
    })();
    const call = { params: { id: "1" }, query: { limit: 2 }, body: { name: "3" } };
    expect(record.handle(call as never)).toEqual(["1", 2, "3", undefined, undefined]);
  });

  // The compiler checks these lines: a directive without an error below it is one.
  it("is refused by the compiler when a field is missing or contradicts another", () => {
    // @ts-expect-error: a change says what it is on record as, or why it is not
    route("tryOut", "POST /tried", open);
    // @ts-expect-error: there is no such action in the audit log
    route("tryOut", "POST /tried", { ...open, audit: "tried.out" });
    // @ts-expect-error: reading is not on record
    route("tryOut", "GET /tried", { ...open, audit: "key.created" });
    // @ts-expect-error: there is no such method
    route("tryOut", "FETCH /tried", open);
    // @ts-expect-error: a route says who may call it
    route("tryOut", "GET /tried", described);
    // @ts-expect-error: a session has a least role
    route("tryOut", "GET /tried", { ...described, access: { credential: "session" } });
    // @ts-expect-error: nobody has no role
    route("tryOut", "GET /tried", { ...described, access: { ...anyone, leastRole: "viewer" } });
    // @ts-expect-error: a route that takes keys says which limited ones
    route("tryOut", "GET /tried", { ...described, access: { credential: "apiKey" } });
    // @ts-expect-error: a session is never limited
    route("tryOut", "GET /tried", { ...described, access: { ...users("viewer"), scope: noLimitedKey } });
    // @ts-expect-error: only routes that check the key in their own transaction have a fast handler
    route("tryOut", "POST /tried", { ...ofKeys, ...none, fast });
    // @ts-expect-error: the fast path reads nothing but POST
    route("tryOut", "GET /tried", { ...described, access: keysCheckedInSql(noLimitedKey), fast });
    // @ts-expect-error: the path has a parameter, which the rule has to name
    route("tryOut", "GET /tried/:id", { ...described, access: keys(customerReads("own")) });
    // @ts-expect-error: the path has no parameter that could name a target
    route("tryOut", "GET /tried", { ...described, access: keys(customerReads("target")) });
    // @ts-expect-error: a customer's key is checked by what the path names
    route("tryOut", "GET /tried", { ...described, access: keys({ takes: ["customer"] }) });
    // @ts-expect-error: the documentation has no such section
    routesOf("Trials");
    const inSql = { ...described, ...none, access: keysCheckedInSql(noLimitedKey), fast };
    expect(route("tryOut", "POST /tried", inSql)()).toHaveProperty("fast");
    const ofTargets = { ...described, access: keys(customerReads("target")) };
    expect(route("tryOut", "GET /tried/:id", ofTargets)()).toHaveProperty("scope", customerReads("target"));
  });
});
