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
  it("has a schema for the parameters of its path", () => {
    const { method, path, params } = route("tryOut", "GET /a/:first/b/:second_one", open)();
    expect([method, path]).toEqual(["GET", "/a/:first/b/:second_one"]);
    expect(params).toMatchObject({
      type: "object",
      required: ["first", "second_one"],
      properties: { first: { type: "string" }, second_one: { type: "string" } },
    });
    expect(route("tryOut", "GET /tried", open)()).not.toHaveProperty("params");
  });

  it("types the inputs of its handler", () => {
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

  // The compiler checks these lines: `@ts-expect-error` fails if there is no error on the line below it.
  it("is refused by the compiler when a field is missing or contradicts another", () => {
    // @ts-expect-error: a route that changes something needs `audit`
    route("tryOut", "POST /tried", open);
    // @ts-expect-error: there is no such action in the audit log
    route("tryOut", "POST /tried", { ...open, audit: "tried.out" });
    // @ts-expect-error: a GET has no `audit`
    route("tryOut", "GET /tried", { ...open, audit: "key.created" });
    // @ts-expect-error: there is no such method
    route("tryOut", "FETCH /tried", open);
    // @ts-expect-error: a route needs `access`
    route("tryOut", "GET /tried", described);
    // @ts-expect-error: access by session needs `leastRole`
    route("tryOut", "GET /tried", { ...described, access: { credential: "session" } });
    // @ts-expect-error: access without credential has no `leastRole`
    route("tryOut", "GET /tried", { ...described, access: { ...anyone, leastRole: "viewer" } });
    // @ts-expect-error: access by API key needs a rule for limited keys
    route("tryOut", "GET /tried", { ...described, access: { credential: "apiKey" } });
    // @ts-expect-error: a session is never limited
    route("tryOut", "GET /tried", { ...described, access: { ...users("viewer"), scope: noLimitedKey } });
    // @ts-expect-error: only routes that check the key in their own transaction have a fast handler
    route("tryOut", "POST /tried", { ...ofKeys, ...none, fast });
    // @ts-expect-error: the fast path handles only POST
    route("tryOut", "GET /tried", { ...described, access: keysCheckedInSql(noLimitedKey), fast });
    // @ts-expect-error: the path has a parameter, so the rule must say what it names
    route("tryOut", "GET /tried/:id", { ...described, access: keys(customerReads("own")) });
    // @ts-expect-error: the path has no parameter that could name a target
    route("tryOut", "GET /tried", { ...described, access: keys(customerReads("target")) });
    // @ts-expect-error: a rule for customers must say what the path names
    route("tryOut", "GET /tried", { ...described, access: keys({ takes: ["customer"] }) });
    // @ts-expect-error: the documentation has no such section
    routesOf("Trials");
    const inSql = { ...described, ...none, access: keysCheckedInSql(noLimitedKey), fast };
    expect(route("tryOut", "POST /tried", inSql)()).toHaveProperty("fast");
    const ofTargets = { ...described, access: keys(customerReads("target")) };
    expect(route("tryOut", "GET /tried/:id", ofTargets)()).toHaveProperty("scope", customerReads("target"));
  });
});
