/**
 * Divides seeds among worlds, in order.
 * @param kindOf seeds of different kinds never share a world.
 * @returns a function that gives the seeds of the next world, at most `perWorld`; undefined when no seeds are
 * left.
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
