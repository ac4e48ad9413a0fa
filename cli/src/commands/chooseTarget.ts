import type { Client, Target } from "../../../sdk/src/client.ts";
import { CommandError, exitCodes } from "../exitCodes.ts";
import { isPulled } from "./targetKinds.ts";

const idPattern = /^[0-9a-f]{32}$/;

/**
 * Returns the id of a target that the user named by its id or its name.
 * @throws {CommandError} when no target has the name, or several have it.
 */
export async function targetId(client: Pick<Client, "listTargets">, named: string): Promise<string> {
  if (idPattern.test(named)) return named;
  const { targets } = await client.listTargets();
  const [found, other] = targets.filter(({ name }) => name === named);
  if (found === undefined) {
    throw new CommandError(
      `there is no target "${named}"; postrider target list shows all targets`,
      exitCodes.notFound,
    );
  }
  if (other !== undefined) {
    throw new CommandError(`several targets are named "${named}": give the id of one`, exitCodes.conflict);
  }
  return found.id;
}

/** Finds a mailbox by its id or name, and reads it. @throws {CommandError} when there is none, or it is of another kind. */
export async function findMailbox(
  client: Pick<Client, "listTargets" | "readTarget">,
  named: string,
): Promise<Target> {
  const target = await client.readTarget(await targetId(client, named));
  if (isPulled(target)) return target;
  throw new CommandError(`"${target.name}" is a ${target.kind} target, not a mailbox`, exitCodes.conflict);
}
