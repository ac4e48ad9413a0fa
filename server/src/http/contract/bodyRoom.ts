/** The memory of request bodies, from their first byte until the answer. */
export interface BodyRoom {
  /**
   * Takes `bytes` for an owner; false when there is no room. An owner may hold at most as much as is still free
   * (a dynamic threshold), so that another always finds room.
   */
  take(owner: string, bytes: number): boolean;
  giveBack(owner: string, bytes: number): void;
  heldBytes(): number;
}

export function createBodyRoom(limitBytes: number): BodyRoom {
  const held = new Map<string, number>();
  let total = 0;
  return {
    take(owner, bytes) {
      const own = held.get(owner) ?? 0;
      if (own + bytes > limitBytes - total) return false;
      held.set(owner, own + bytes);
      total += bytes;
      return true;
    },
    giveBack(owner, bytes) {
      const rest = (held.get(owner) ?? 0) - bytes;
      if (rest > 0) held.set(owner, rest);
      else held.delete(owner);
      total -= bytes;
    },
    heldBytes: () => total,
  };
}
