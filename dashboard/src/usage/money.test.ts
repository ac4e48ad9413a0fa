import { expect, it } from "vitest";
import { money } from "./money.ts";

it.each([
  [1234, "usd", "$12.34"],
  [10, "eur", "€0.10"],
  [1234, "jpy", "¥1,234"],
  [1234, "kwd", "KWD 1.234"],
  // Browsers show no decimal digits of this currency, but the payment processor counts in hundredths.
  [123_400, "huf", "HUF 1,234.00"],
])("an amount is given in the smallest unit of its currency: %d %s", (amount, currency, text) => {
  expect(money(amount, currency).replaceAll("\u00A0", " ")).toBe(text);
});
