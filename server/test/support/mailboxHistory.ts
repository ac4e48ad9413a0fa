/** One call of a consumer or producer with its answer, as its caller saw it. Times are of one monotonic clock. */
export type Call = { startedAtMs: number; endedAtMs: number } & (
  | { kind: "send"; id: string; orderingKey: string | null }
  /** `claims` is null when the answer was lost. */
  | { kind: "claim"; claims: { id: string; token: string }[] | null }
  /** `status` is null when the answer was lost. */
  | { kind: "ack" | "reject" | "release" | "extend"; id: string; token: string; status: number | null }
  | { kind: "read"; id: string; state: string }
);

interface Claim {
  id: string;
  token: string;
  startedAtMs: number;
  endedAtMs: number;
  /**
   * The interval in which the claim was certainly active, whenever between the start and the end of the calls the
   * service acted.
   */
  activeFromMs: number;
  activeUntilMs: number;
  /** The time after which the claim had certainly lapsed. */
  lapsedAtMs: number;
}

type Change = Extract<Call, { token: string }>;

/**
 * Checks the history of one mailbox from its recorded calls alone, with leases of `leaseMs`. Returns violations:
 * overlapping claims, changes by stale holders, lost messages, messages acknowledged twice or out of the order of
 * their keys. Every message must have been read once after all other calls.
 */
export function violations(calls: readonly Call[], leaseMs: number): string[] {
  const changes = calls.filter((call): call is Change => "token" in call);
  const claims = claimsOf(calls, changes, leaseMs);
  return [
    ...overlaps(claims, (claim) => claim.id, "one message"),
    ...staleChanges(claims, changes),
    ...ends(calls, claims, changes),
    ...orderOfKeys(calls, claims, changes),
  ];
}

function claimsOf(calls: readonly Call[], changes: readonly Change[], leaseMs: number): Claim[] {
  return calls.flatMap((call) => {
    if (call.kind !== "claim" || call.claims === null) return [];
    const { startedAtMs, endedAtMs } = call;
    return call.claims.map(({ id, token }) => {
      const own = changes.filter((change) => change.id === id && change.token === token);
      const extensions = own.filter((change) => change.kind === "extend" && change.status !== 409);
      const ended = own.filter((change) => change.kind !== "extend").map((change) => change.startedAtMs);
      const certain = extensions.filter((change) => change.status === 200);
      const activeUntilMs = Math.min(
        Math.max(startedAtMs, ...certain.map((change) => change.startedAtMs)) + leaseMs,
        ...ended,
      );
      const lapsedAtMs = Math.max(endedAtMs, ...extensions.map((change) => change.endedAtMs)) + leaseMs;
      return { id, token, startedAtMs, endedAtMs, activeFromMs: endedAtMs, activeUntilMs, lapsedAtMs };
    });
  });
}

function overlaps(
  claims: readonly Claim[],
  groupOf: (claim: Claim) => string | null,
  what: string,
): string[] {
  const groups = Map.groupBy(claims, groupOf);
  groups.delete(null);
  return [...groups].flatMap(([group, members]) => {
    const byStart = members.toSorted((a, b) => a.activeFromMs - b.activeFromMs);
    return byStart.flatMap((claim, index) =>
      byStart
        .slice(index + 1)
        .filter(
          (later) => later.activeFromMs < claim.activeUntilMs && later.activeFromMs < later.activeUntilMs,
        )
        .map(
          (later) => `two claims of ${what} were active at once: ${group} (${claim.token}, ${later.token})`,
        ),
    );
  });
}

/** A holder whose claim had lapsed, or was replaced by another, must not have changed anything. */
function staleChanges(claims: readonly Claim[], changes: readonly Change[]): string[] {
  const byMessage = Map.groupBy(claims, (claim) => claim.id);
  return changes
    .filter((change) => change.status === 200)
    .flatMap((change) => {
      const others = byMessage.get(change.id) ?? [];
      const own = others.find((claim) => claim.token === change.token);
      if (own === undefined) return [`${change.kind} of ${change.id} succeeded with a token that nobody got`];
      const replacement = others.find(
        (claim) => claim.startedAtMs > own.endedAtMs && claim.endedAtMs < change.startedAtMs,
      );
      const isRepeat = changes.some(
        (earlier) =>
          earlier.kind === change.kind &&
          earlier.id === change.id &&
          earlier.token === change.token &&
          earlier.status !== 409 &&
          earlier.startedAtMs < change.startedAtMs,
      );
      if (isRepeat && change.kind !== "extend") return [];
      if (replacement !== undefined) {
        return [
          `${change.kind} of ${change.id} succeeded for ${own.token} after ${replacement.token} had claimed it`,
        ];
      }
      if (change.startedAtMs > own.lapsedAtMs) {
        return [`${change.kind} of ${change.id} succeeded after its claim ${own.token} had lapsed`];
      }
      return [];
    });
}

/** Everything sent has ended, once, and in the way that its consumers were told. */
function ends(calls: readonly Call[], claims: readonly Claim[], changes: readonly Change[]): string[] {
  const states = new Map(calls.flatMap((call) => (call.kind === "read" ? [[call.id, call.state]] : [])));
  const byMessage = Map.groupBy(changes, (change) => change.id);
  const claimsByMessage = Map.groupBy(claims, (claim) => claim.id);
  return calls.flatMap((call) => {
    if (call.kind !== "send") return [];
    const done = (byMessage.get(call.id) ?? []).filter(
      (change) => (change.kind === "ack" || change.kind === "reject") && change.status === 200,
    );
    const found: string[] = [];
    const state = states.get(call.id);
    if (state !== "ACKNOWLEDGED" && state !== "DEAD") found.push(`${call.id} was lost: it reads as ${state}`);
    if (new Set(done.map((change) => change.token)).size > 1) {
      found.push(`${call.id} was ended by more than one claim`);
    }
    for (const change of done) {
      const expected = change.kind === "ack" ? "ACKNOWLEDGED" : "DEAD";
      if (state !== expected) found.push(`${call.id} was ended by ${change.kind} and reads as ${state}`);
      for (const claim of claimsByMessage.get(call.id) ?? []) {
        if (claim.startedAtMs > change.endedAtMs) found.push(`${call.id} was claimed after its end`);
      }
    }
    return found;
  });
}

/** Messages of a key are claimed one at a time, each after all messages sent before it had ended. */
function orderOfKeys(calls: readonly Call[], claims: readonly Claim[], changes: readonly Change[]): string[] {
  const sent = calls.filter((call) => call.kind === "send");
  const keys = new Map(sent.map((call) => [call.id, call.orderingKey]));
  const endedFromMs = new Map<string, number>();
  for (const change of changes) {
    if (change.kind !== "ack" && change.kind !== "reject") continue;
    if (change.status !== 200 && change.status !== null) continue;
    const known = endedFromMs.get(change.id) ?? Infinity;
    endedFromMs.set(change.id, Math.min(known, change.startedAtMs));
  }
  const early = claims.flatMap((claim) => {
    const key = keys.get(claim.id);
    const own = sent.find((call) => call.id === claim.id);
    if (key === null || own === undefined) return [];
    return sent
      .filter((call) => call.orderingKey === key && call.endedAtMs < own.startedAtMs)
      .filter((call) => (endedFromMs.get(call.id) ?? Infinity) > claim.endedAtMs)
      .map((call) => `${claim.id} of key ${key} was claimed before ${call.id} had ended`);
  });
  return [...early, ...overlaps(claims, (claim) => keys.get(claim.id) ?? null, "one ordering key")];
}
