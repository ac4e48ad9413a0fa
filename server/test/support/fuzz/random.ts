/** Random numbers that follow from a seed. */
export interface Random {
  /** An integer from 0 to `limit - 1`. */
  integer(limit: number): number;
  pick<T>(values: readonly T[]): T;
  chance(probability: number): boolean;
}

/** The mulberry32 generator: 32 bits of state are enough for choosing test cases. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (limit: number): number => Math.floor(next() * limit);
  return {
    integer,
    pick: (values) => values[integer(values.length)]!,
    chance: (probability) => next() < probability,
  };
}
