import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { stageOfFile } from "./support/stage.ts";

const stage = stageOfFile();

const call = (method: "GET" | "POST" | "PUT", path: string, body?: object) =>
  stage.dashboard.service.call(method, path, { key: stage.account.api_key, ...(body && { body }) });

/** A link to the customer's portal, at this service's own address. */
async function newLink(uid: string): Promise<string> {
  const { url } = (await call("POST", `/api/v1/customers/${uid}/portal-links`)).body;
  return new URL(url).pathname + new URL(url).hash;
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'], preload: false })",
  )) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}

it("shows a customer its own endpoints, and lets the customer create, test, rotate and replay", async () => {
  await call("PUT", "/api/v1/customers/shop-7", { name: "Corner Shop" });
  await call("PUT", "/api/v1/customers/shop-8", {});
  await call("PUT", "/api/v1/portal-settings", {
    name: "Acme Payments",
    logo: `data:image/svg+xml;base64,${btoa('<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>')}`,
    colour: "#ffee58",
    origins: [],
  });
  await call("PUT", "/api/v1/event-types/order.paid", {
    description: "Paid in full",
    example: { order: 1001 },
  });
  const fields = { name: "orders", customer_uid: "shop-7", max_retries: 0 };
  const target = await stage.targetAt("/broken", fields);
  await stage.targetAt("/other", { name: "not theirs", customer_uid: "shop-8" });
  const failed = await stage.organization.send(target.id, {
    event_type: "order.paid",
  });
  await stage.organization.settled(failed, "FAILED");
  // A user of the organization is signed in in the same browser, which the portal ignores.
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  const link = await newLink("shop-7");
  await page.goto(link);
  await page.getByText("Acme Payments").waitFor();
  await page.getByText("Corner Shop").waitFor();
  expect(page.url()).not.toContain("code");
  await page.getByRole("link", { name: "orders" }).waitFor();
  await page.getByText("0 % delivered").waitFor();
  expect(await page.getByText("not theirs").count()).toBe(0);
  await page.locator("summary", { hasText: "order.paid" }).click();
  await page.getByText('"order": 1001').waitFor();
  expect(await violations(page)).toEqual([]);

  await page.getByRole("button", { name: "New endpoint" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("URL").fill(`${stage.receiver.url}/mine`);
  await dialog.getByLabel("Name").fill("mine");
  await dialog.getByRole("button", { name: "Example of order.paid" }).click();
  await dialog.getByText('"order": 1001').waitFor();
  const types = dialog.getByLabel("Event types", { exact: true });
  expect(await dialog.getByLabel("All event types").isChecked()).toBe(true);
  await dialog.getByLabel("order.paid", { exact: true }).check();
  expect(await types.inputValue()).toBe("order.paid");
  expect(await violations(page)).toEqual([]);
  await types.fill("order.*");
  await dialog.getByRole("button", { name: "Create endpoint" }).click();
  await page.locator("code", { hasText: /^whsec_/ }).waitFor();
  await page.getByLabel("I saved it").check();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("link", { name: "mine" }).click();
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByRole("dialog", { name: "Delivered", exact: true }).waitFor();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("link", { name: "Signing secret" }).click();
  await page.getByRole("button", { name: "Create a new secret…" }).click();
  await page.getByRole("button", { name: "Rotate", exact: true }).click();
  await page.locator("code", { hasText: /^whsec_/ }).waitFor();
  await page.getByLabel("I saved it").check();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("A rotation is in progress").waitFor();

  await page.getByRole("link", { name: "All endpoints" }).click();
  await page.getByRole("link", { name: "orders" }).click();
  await page.getByLabel("Answered 503").waitFor();
  await page.getByRole("button", { name: "order.paid" }).click();
  await page.getByText("no healthy upstream").waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByLabel("URL").fill(`${stage.receiver.url}/mended`);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await page.getByRole("link", { name: "Deliveries" }).click();
  await page.getByRole("button", { name: "Replay failures" }).click();
  await page.getByText("1 replayed.").waitFor();
  await page.getByRole("listitem").getByText("DELIVERED", { exact: true }).waitFor();
  expect(await stage.receiver.arrivals(1, { path: "/mended" })).toHaveLength(1);
  // A failed item whose replay was delivered is not replayed again.
  await page.getByRole("button", { name: "Replay failures" }).click();
  await page.getByText("No failed deliveries are left to replay.").waitFor();
  expect(stage.receiver.at("/mended")).toHaveLength(1);

  // The session survives a reload, and ends with signing out.
  await page.reload();
  await page.getByRole("heading", { name: "orders" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "You need a new link" }).waitFor();
  await page.getByRole("banner").getByText("Webhooks").waitFor();
  await page.goto("/sign-in");
  await page.goto(link);
  await page.getByText("The link was already used or has expired").waitFor();
  expect(problems).toEqual([]);
});

it("lets a customer set the filter and headers of an endpoint, and shows no secret", async () => {
  await call("PUT", "/api/v1/customers/choosy", {});
  const target = await stage.targetAt("/chosen", {
    name: "chosen",
    customer_uid: "choosy",
    headers: { "X-Given": "nobody-sees-this" },
  });
  const { page, problems } = await stage.dashboard.open();
  await page.goto(await newLink("choosy"));
  await page.getByRole("link", { name: "chosen" }).click();
  await page.getByRole("link", { name: "Settings" }).click();
  const save = page.getByRole("button", { name: "Save" });
  expect(await page.getByLabel("Value 1").inputValue()).toBe("");
  await page.getByRole("button", { name: "Add a header" }).click();
  await page.getByText("Each header needs a name").waitFor();
  await page.getByRole("textbox", { name: "Header 2" }).fill("Authorization");
  await page.getByLabel("Value 2").fill("Bearer of-the-customer");
  const filter = page.getByLabel("Filter", { exact: true });
  await filter.fill('{"payload": {"amount": [{"numeric": [">=", "x"]}]}}');
  await save.click();
  const refusal = page.getByText("filter.payload.amount.0.numeric must be a comparison", { exact: false });
  await refusal.first().waitFor();
  expect(await filter.getAttribute("aria-invalid")).toBe("true");
  await filter.fill('{"payload": {"amount": [{"numeric": [">=", 100]}]}}');
  await page.getByText("Try the filter on a sample").click();
  await page.getByLabel("Sample payload").fill('{"amount": 80}');
  await page.getByRole("button", { name: "Try it" }).click();
  await page.getByText("It differs: the item would be FILTERED.").waitFor();
  expect(await violations(page)).toEqual([]);
  await save.click();
  await page.getByText("Saved.").waitFor();
  // The typed values are discarded with the form.
  await page.getByPlaceholder("unchanged").nth(1).waitFor();
  expect(await page.content()).not.toContain("of-the-customer");
  await stage.organization.send(target.id, { amount: 80 });
  const sent = await stage.organization.send(target.id, { amount: 100 });
  expect(await stage.receiver.arrivals(1, { path: "/chosen" })).toMatchObject([
    { id: sent, headers: { authorization: "Bearer of-the-customer", "x-given": "nobody-sees-this" } },
  ]);
  expect(problems.filter((problem) => !problem.includes("400"))).toEqual([]);
});

it("uses the name, colour and origins that an admin sets, and opens links that a member creates", async () => {
  await call("PUT", "/api/v1/customers/linked", { name: "Linked" });
  const { page, problems } = await stage.dashboard.openAs(stage.account);
  await page.goto("/settings?tab=portal");
  await page.getByLabel("Name").fill("Acme Hooks");
  await page.getByLabel("Colour").fill("#0B6E4F");
  await page.getByLabel("Origins that may embed").fill("https://app.example.com/path");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("is not an origin such as").waitFor();
  await page.getByLabel("Origins that may embed").fill("https://app.example.com\nhttps://b.example.com");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  expect((await call("GET", "/api/v1/portal-settings")).body).toMatchObject({
    name: "Acme Hooks",
    colour: "#0b6e4f",
    origins: ["https://app.example.com", "https://b.example.com"],
  });
  await page.goto("/customers/linked");
  await page.getByRole("button", { name: "Create link" }).click();
  const url = new URL((await page.locator("code", { hasText: "#code=" }).textContent())!);
  const visitor = await stage.dashboard.open();
  await visitor.page.goto(url.pathname + url.hash);
  await visitor.page.getByText("Acme Hooks").first().waitFor();
  await page.getByRole("button", { name: "Revoke portal sessions…" }).click();
  await page.getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByText("Sessions ended: 1.").waitFor();
  await visitor.page.reload();
  await visitor.page.getByRole("heading", { name: "You need a new link" }).waitFor();
  expect([...problems, ...visitor.problems]).toEqual([]);
});

it("can be framed by the origins that the organization lists, and by no other", async () => {
  await call("PUT", "/api/v1/customers/framed", { name: "Framed" });
  const { body } = await call("GET", "/api/v1/orgs");
  // `localhost` and 127.0.0.1 are two origins of the same server.
  const server = createServer((request, response) => {
    const link = new URL(request.url!, "http://localhost").searchParams.get("link")!;
    response.setHeader("content-type", "text/html");
    response.end(
      `<title>host</title><iframe title="portal" width="900" height="600" src="${link}"></iframe>`,
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  try {
    await call("PUT", "/api/v1/portal-settings", {
      name: null,
      logo: null,
      colour: null,
      origins: [`http://localhost:${port}`],
    });
    const { page } = await stage.dashboard.open();
    const framed = async (host: string): Promise<void> => {
      const link = stage.dashboard.service.url + (await newLink("framed"));
      await page.goto(`http://${host}:${port}/?link=${encodeURIComponent(link)}`);
    };
    await framed("localhost");
    const frame = page.frameLocator("iframe");
    await frame.getByText(body.org.name).waitFor();
    expect(await frame.getByRole("button", { name: "Sign out" }).count()).toBe(0);
    await frame.getByRole("heading", { name: "Endpoints" }).waitFor();
    const refused = page.waitForEvent("console", (message) => message.text().includes("frame-ancestors"));
    await framed("127.0.0.1");
    await refused;
    expect(await frame.getByRole("heading").count()).toBe(0);
  } finally {
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  }
});

it("starts a new session from a new link without a reload, also after the previous session has ended", async () => {
  await call("PUT", "/api/v1/customers/renewed", { name: "Renewed" });
  const { page, problems } = await stage.dashboard.open();
  const link = await newLink("renewed");
  await page.goto(link);
  await page.getByRole("heading", { name: "Endpoints" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  const ended = page.getByRole("heading", { name: "You need a new link" });
  await ended.waitFor();
  // Navigates as an embedding page does when it gives its frame a new address: only the fragment differs.
  const open = (next: string) => page.evaluate(`location.href = ${JSON.stringify(next)}`);
  await open(link);
  await page.getByText("The link was already used or has expired").waitFor();
  expect(page.url()).not.toContain("code");
  await open(await newLink("renewed"));
  await page.getByRole("heading", { name: "Endpoints" }).waitFor();
  expect(page.url()).not.toContain("code");
  // A new link also replaces a session of another customer that is still open.
  await call("PUT", "/api/v1/customers/after", { name: "Afterwards" });
  await open(await newLink("after"));
  await page.getByText("Afterwards").waitFor();
  expect(problems).toEqual([]);
});

it("deletes an endpoint with unsaved settings without asking about the unsaved changes", async () => {
  await call("PUT", "/api/v1/customers/deleting", {});
  await stage.targetAt("/gone", { name: "gone soon", customer_uid: "deleting" });
  const { page, problems } = await stage.dashboard.open();
  await page.goto(await newLink("deleting"));
  await page.getByRole("link", { name: "gone soon" }).click();
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByLabel("Name", { exact: true }).fill("typed and not saved");
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("No endpoint yet").waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
  expect(problems).toEqual([]);
});
