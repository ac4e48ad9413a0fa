/** A range of statistics around now, wide enough that its bounds do not matter during a test. */
export function aroundNow(): string {
  const now = Math.floor(Date.now() / 1000);
  return `from=${now - 3600}&to=${now + 3600}`;
}
