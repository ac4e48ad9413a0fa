export function money(cents: number, currency: string): string {
  return (cents / 100).toLocaleString("en", { style: "currency", currency: currency.toUpperCase() });
}
