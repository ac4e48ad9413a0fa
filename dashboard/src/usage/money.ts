/** Digits that the processor's smallest unit of a currency stands behind the point, where these are not two. Its list differs from the browser's. */
const digitsOf: Record<string, number> = {
  ...Object.fromEntries(
    "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF".split(" ").map((code) => [code, 0]),
  ),
  ...Object.fromEntries("BHD JOD KWD OMR TND".split(" ").map((code) => [code, 3])),
};

/** An amount in the currency's smallest unit, as the payment processor counts it. */
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
