import { createInTurn, type InTurn } from "../inTurn.ts";
import type { PostgresServer } from "./server.ts";

/** The database of the services: one or more nodes, each of which can have faults alone. */
export interface Database {
  /** The server that the services use; it holds or reaches all stored data. */
  readonly primary: PostgresServer;
  readonly nodes: Readonly<Record<string, Node>>;
  /** Destroys a primary and promotes its standby. */
  promote(): Promise<void>;
  /** Resolves once every server serves and each standby follows its primary. */
  isWhole(): Promise<void>;
  stop(): Promise<void>;
}

/** One PostgreSQL node; failover replaces its server. */
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
