/** The requests of a run that were not answered as expected. */
export interface Refusals {
  readonly count: number;
  /** @param status 0 if the connection was lost before the answer. */
  add(status: number, body: Buffer | string): void;
  /** @throws if a request was refused: the error names the statuses and the first refusal's body. */
  check(requests: number): void;
}

const bodyCharacters = 200;

export function createRefusals(): Refusals {
  const counts = new Map<number, number>();
  let count = 0;
  let first = "";
  return {
    get count() {
      return count;
    },
    add(status, body) {
      if (count++ === 0) first = String(body).slice(0, bodyCharacters);
      counts.set(status, (counts.get(status) ?? 0) + 1);
    },
    check(requests) {
      if (count === 0) return;
      const statuses = [...counts].map(([status, times]) => `${times} × ${status || "connection lost"}`);
      throw new Error(
        `${count} of ${requests} requests were refused: ${statuses.join(", ")}; the first answer: ${first || "none"}`,
      );
    },
  };
}
