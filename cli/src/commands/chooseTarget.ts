import type { Client, Target } from "../../../sdk/src/client.ts";
import { CommandError, exitCodes, isOutsideScope } from "../exitCodes.ts";
import { isPulled } from "./targetKinds.ts";

const idPattern = /^[0-9a-f]{32}$/;

/**
 * Returns the id of a target that the user named by its id or its name.
 * @throws {CommandError} when no target has the name, several have it, or the key may not list the targets.
 */
export async function targetId(client: Pick<Client, "listTargets">, named: string): Promise<string> {
  if (idPattern.test(named)) return named;
  const { targets } = await client.listTargets().catch((error: unknown): never => {
    if (!isOutsideScope(error)) throw error;
    const message = `this API key is limited and cannot look up the name "${named}": give the target's id`;
    throw new CommandError(message, exitCodes.credential, { cause: error });
  });
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

/**
 * Finds a mailbox by its id or name. With a key that may consume the mailbox but not read it, its id is also its name.
 * @throws {CommandError} when there is none, or it is of another kind.
 */
export async function findMailbox(
  client: Pick<Client, "listTargets" | "readTarget">,
  named: string,
): Promise<Pick<Target, "id" | "name">> {
  const id = await targetId(client, named);
  const target = await client.readTarget(id).catch((error: unknown) => {
    if (isOutsideScope(error)) return undefined;
    throw error;
  });
  if (target === undefined) return { id, name: id };
  if (isPulled(target)) return target;
  throw new CommandError(`"${target.name}" is a ${target.kind} target, not a mailbox`, exitCodes.conflict);
}
