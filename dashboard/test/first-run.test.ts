import { afterAll, beforeAll, expect, it } from "vitest";
import { tabTo, untilFocused } from "./support/browser.ts";
import { type Dashboard, startDashboard } from "./support/dashboard.ts";

let dashboard: Dashboard;

beforeAll(async () => {
  // As in production, where targets on private networks are refused.
  dashboard = await startDashboard({ POSTRIDER_ALLOW_HTTP_TARGETS: "false", POSTRIDER_ALLOWED_NETWORKS: "" });
});

afterAll(() => dashboard.stop());

it("leads a new user to a first signed delivery", async () => {
  const { page, problems } = await dashboard.open();
  await page.goto("/");
  await page.getByRole("link", { name: "Sign up" }).click();
  await page.getByRole("heading", { name: "Sign up" }).waitFor();
  await page.getByLabel("Email").fill("stranger@example.com");
  await page.getByLabel("Password").fill("correct horse battery");
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.getByRole("button", { name: "Create target" }).click();
  const continueButton = page.getByRole("button", { name: "Continue" });
  await continueButton.waitFor();
  expect(await continueButton.isDisabled()).toBe(true);
  // A reload loses neither the secret nor the key.
  const secret = await page.getByText(/^whsec_/).textContent();
  await page.reload();
  await continueButton.waitFor();
  expect(await page.getByText(/^whsec_/).textContent()).toBe(secret);
  // Nor does a second target that is created before the secret of the first is saved.
  await page.getByRole("button", { name: "Create another" }).click();
  await page.getByLabel("Display name").fill("second");
  await page.getByRole("button", { name: "Create target" }).click();
  const first = page.locator("section", { hasText: "Signing secret of Try it here: shown only once" });
  const second = page.locator("section", { hasText: "Signing secret of second: shown only once" });
  await second.getByLabel("I saved it").check();
  await second.getByRole("button", { name: "Continue" }).click();
  await second.waitFor({ state: "detached" });
  expect(await first.getByText(/^whsec_/).textContent()).toBe(secret);
  await first.getByLabel("I saved it").check();
  await continueButton.click();
  const snippet = page.getByLabel("curl command", { exact: true });
  expect(await snippet.textContent()).toMatch(/ak_live_[0-9a-f]{64}/);
  await page.getByRole("button", { name: "Send it from here" }).click();
  await page.getByText("Signature verified").waitFor();
  await page.getByText("DELIVERED", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Go to the target" }).click();
  await page.getByLabel("Sections").getByRole("link", { name: "Received" }).click();
  // The page shows that the choice could not be saved.
  await page.route("**/api/v1/targets/*", (route) =>
    route.request().method() === "PATCH" ? route.abort() : route.fallback(),
  );
  await page.getByLabel("Answer deliveries with").selectOption("503");
  await page.getByText("The service cannot be reached.", { exact: false }).waitFor();
  expect(problems).toEqual([]);
  // No address contains a secret, so neither does the history.
  expect(page.url()).not.toMatch(/ak_live|whsec|token/);
});

it("answers the sign-up with a taken email without telling that it is taken", async () => {
  const { page } = await dashboard.open();
  await page.goto("/sign-up");
  await page.getByLabel("Email").fill("stranger@example.com");
  await page.getByLabel("Password").fill("another password");
  await page.getByRole("button", { name: "Sign up" }).click();
  await page.getByRole("status").filter({ hasText: /./ }).first().waitFor();
  expect(page.url()).toMatch(/sign-up$/);
});

it("can be used by keyboard alone", async () => {
  const account = await dashboard.newAccount();
  const { page } = await dashboard.openAs(account);
  await page.goto("/items");
  await page.getByRole("heading", { name: "Items" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.getByRole("heading", { name: "Targets", exact: true }).waitFor();
  await untilFocused(page, "main");
  await page.keyboard.press("?");
  await page.getByRole("dialog").getByText("Go to a page").waitFor();
  await page.keyboard.press("Escape");
  await untilFocused(page, "main");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("usage");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Usage" }).waitFor();
  await untilFocused(page, "main");
  await page.keyboard.press("t");
  expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
});

it("completes the first steps and changes a target's settings by keyboard alone", async () => {
  const account = await dashboard.newAccount();
  const { page, problems } = await dashboard.openAs(account);
  const press = async (name: string, key = "Enter"): Promise<void> => {
    await tabTo(page, page.getByRole("button", { name }).or(page.getByRole("checkbox", { name })));
    await page.keyboard.press(key);
  };
  await page.goto("/start");
  await press("Create target");
  await untilFocused(page, "Signing secret of Try it here: shown only once");
  await press("I saved it", "Space");
  await press("Continue");
  await untilFocused(page, "2\nSend an item to it");
  await press("Create a key for these snippets");
  await untilFocused(page, "2\nSend an item to it");
  await press("Send it from here");
  await page.getByText("Signature verified").waitFor();
  await untilFocused(page, "Send it from here");
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await page.getByRole("heading", { name: "Targets", exact: true }).waitFor();
  await page.getByRole("link", { name: "Try it here" }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await tabTo(page, page.getByLabel("Sections").getByRole("link", { name: "Settings" }));
  await page.keyboard.press("Enter");
  await tabTo(page, page.getByLabel("Rate limit (per second)"));
  await page.keyboard.type("250");
  await page.keyboard.press("Enter");
  await page.getByText("Saved.").waitFor();
  // After saving with the keyboard, the focus stays in the field.
  expect(await page.getByLabel("Rate limit (per second)").evaluate((field) => field.matches(":focus"))).toBe(
    true,
  );
  expect(problems).toEqual([]);
});

it("plays the demo without an account and without a request", async () => {
  const { page, problems } = await dashboard.open();
  const calls: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/api/")) calls.push(request.url());
  });
  await page.goto("/demo");
  await page.getByRole("button", { name: "Next step" }).click();
  await page.getByText("The first attempt fails").waitFor();
  await page.getByRole("button", { name: "Previous step" }).click();
  await expect.poll(() => page.getByText("The first attempt fails").count()).toBe(0);
  await page.getByRole("button", { name: "A mailbox" }).click();
  await page.getByText("A message waits").waitFor();
  expect(calls).toEqual([]);
  expect(problems).toEqual([]);
});
