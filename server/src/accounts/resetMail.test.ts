import { expect, test } from "vitest";
import { resetMail } from "./resetByMail.ts";

test("an address that contains HTML is shown as text in the mail", () => {
  const { text, html } = resetMail({
    email: `<a href="https://evil.example">&@example.com`,
    publicUrl: "https://postrider.example.com",
    token: "rst_0",
  });
  expect(text).toContain(`<a href="https://evil.example">&@example.com`);
  expect(html).toContain("&lt;a href=&quot;https://evil.example&quot;&gt;&amp;@example.com");
  expect(html.match(/<a /g)).toHaveLength(1);
});
