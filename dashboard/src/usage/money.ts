/**
 * Number of decimal digits of currencies that do not have two, in the payment processor's list, which differs from the
 * browser's.
 */
const digitsOf: Record<string, number> = {
  ...Object.fromEntries(
    "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF".split(" ").map((code) => [code, 0]),
  ),
  ...Object.fromEntries("BHD JOD KWD OMR TND".split(" ").map((code) => [code, 3])),
};

/** Formats an amount that the payment processor gives in the smallest unit of the currency. */
export function money(amount: number, currency: string): string {
  const code = currency.toUpperCase();
  const digits = digitsOf[code] ?? 2;
  return (amount / 10 ** digits).toLocaleString("en", {
    style: "currency",
    currency: code,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}
