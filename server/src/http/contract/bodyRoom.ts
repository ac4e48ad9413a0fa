export type BodyRoom = ReturnType<typeof createBodyRoom>;

/** Bounds the memory of request bodies, from their first byte until the answer. */
export function createBodyRoom(limitBytes: number) {
  const held = new Map<string, number>();
  let total = 0;
  return {
    /**
     * Takes `bytes` for an owner; false when there is no room. An owner may hold at most as much as is still free
     * (a dynamic threshold), so that another always finds room.
     */
    take(owner: string, bytes: number): boolean {
      const own = held.get(owner) ?? 0;
      if (own + bytes > limitBytes - total) return false;
      held.set(owner, own + bytes);
      total += bytes;
      return true;
    },
    giveBack(owner: string, bytes: number): void {
      const rest = (held.get(owner) ?? 0) - bytes;
      if (rest > 0) held.set(owner, rest);
      else held.delete(owner);
      total -= bytes;
    },
    heldBytes: () => total,
  };
}
