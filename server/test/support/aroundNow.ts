/** A range of statistics around this moment, so wide that no full minute ends in the middle of a test. */
export function aroundNow(): string {
  const now = Math.floor(Date.now() / 1000);
  return `from=${now - 3600}&to=${now + 3600}`;
}
