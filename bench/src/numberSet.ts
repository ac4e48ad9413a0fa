/** A set of small integers, with one bit for each. */
export interface NumberSet {
  /** False if the number was in the set already. */
  add(number: number): boolean;
  has(number: number): boolean;
  values(): Generator<number>;
  /** The bits, to be passed to another process. */
  bits(): Uint8Array;
}

export function createNumberSet(bits: Uint8Array = new Uint8Array(1_024)): NumberSet {
  let held = bits;
  return {
    add(number) {
      const at = number >> 3;
      if (at >= held.length) {
        const larger = new Uint8Array(2 * (at + 1));
        larger.set(held);
        held = larger;
      }
      const bit = 1 << (number & 7);
      if ((held[at]! & bit) !== 0) return false;
      held[at]! |= bit;
      return true;
    },
    has: (number) => ((held[number >> 3] ?? 0) & (1 << (number & 7))) !== 0,
    *values() {
      for (let at = 0; at < held.length; at++) {
        for (let byte = held[at]!, number = at * 8; byte > 0; byte >>= 1, number++)
          if ((byte & 1) === 1) yield number;
      }
    },
    bits: () => held,
  };
}
