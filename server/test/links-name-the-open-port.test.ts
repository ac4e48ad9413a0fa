import { expect } from "vitest";
import { sharedServiceTest } from "./support/fixtures.ts";

const it = sharedServiceTest();

it("links of a service that listens on any free port (PORT=0) name the port", async ({
  service,
  account,
}) => {
  const { api_key: key } = account;
  const path = "/api/v1/customers/shop";
  expect((await service.call("PUT", path, { key, body: {} })).status).toBe(200);
  const { body } = await service.call("POST", `${path}/portal-links`, { key });
  expect(body.url.startsWith(`${service.url}/portal/`), body.url).toBe(true);
});
