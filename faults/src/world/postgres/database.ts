import { createInTurn, type InTurn } from "../inTurn.ts";
import type { PostgresServer } from "./server.ts";

/** Where the services keep everything: one or more nodes, each of which can be harmed alone. */
export interface Database {
  /** Serves the service, and has or reaches all that is stored. */
  readonly primary: PostgresServer;
  readonly nodes: Readonly<Record<string, Node>>;
  /** A primary is lost for good and its standby takes over. */
  promote(): Promise<void>;
  /** Resolves once everything serves and each standby follows. */
  isWhole(): Promise<void>;
  stop(): Promise<void>;
}

/** A PostgreSQL, whichever server is in its place. */
export interface Node {
  readonly primary: PostgresServer;
  /** Serializes actions that end, start or replace the server. */
  readonly inTurn: InTurn;
  isWhole(): Promise<void>;
  stop(): Promise<void>;
}

/** A node without a standby. */
export function singleNode(primary: PostgresServer): Node {
  const inTurn = createInTurn();
  return {
    primary,
    inTurn,
    isWhole: () =>
      inTurn(async () => {
        primary.signal("SIGCONT");
        await primary.answers();
      }),
    stop: () => primary.end("SIGQUIT"),
  };
}
