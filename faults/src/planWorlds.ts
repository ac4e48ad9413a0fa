/**
 * Divides seeds over worlds, in their order.
 * @param kindOf seeds of different kinds are not played in one world.
 * @returns gives the seeds of the next world, `perWorld` of them while there are so many; undefined when there are none.
 */
export function planWorlds(
  seeds: Iterator<number>,
  perWorld: number,
  kindOf: (seed: number) => unknown,
): () => number[] | undefined {
  const gathered = new Map<unknown, number[]>();
  return () => {
    for (let next = seeds.next(); next.done !== true; next = seeds.next()) {
      const kind = kindOf(next.value);
      const own = [...(gathered.get(kind) ?? []), next.value];
      gathered.set(kind, own);
      if (own.length < perWorld) continue;
      gathered.delete(kind);
      return own;
    }
    for (const [kind, rest] of gathered) {
      gathered.delete(kind);
      return rest;
    }
    return undefined;
  };
}
