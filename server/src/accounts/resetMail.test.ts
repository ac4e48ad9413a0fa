import { expect, test } from "vitest";
import { resetMail } from "./resetByMail.ts";

test("what an address holds is text in the mail, and no markup", () => {
  const { text, html } = resetMail({
    email: `<a href="https://evil.example">&@example.com`,
    publicUrl: "https://postrider.example.com",
    token: "rst_0",
  });
  expect(text).toContain(`<a href="https://evil.example">&@example.com`);
  expect(html).toContain("&lt;a href=&quot;https://evil.example&quot;&gt;&amp;@example.com");
  expect(html.match(/<a /g)).toHaveLength(1);
});
