import type { NewTarget, Target } from "../../../sdk/src/client.ts";
import type { Input, Options } from "../command.ts";
import { UsageError } from "../exitCodes.ts";
import { readGivenJson } from "../readGiven.ts";
import type { Session } from "../session.ts";
import { targetKindNames } from "./targetKinds.generated.ts";

type Fields = Partial<NewTarget>;

/** Options and help that one kind of target adds to the commands. */
interface TargetKind {
  /** Whether consumers claim the items of these targets, as `postrider mailbox` does. */
  isPulled?: true;
  /** Options for creating and for changing a target. The service refuses options of another kind. */
  settings?: { options: Options; read: (session: Session, input: Input) => Promise<Fields> };
  /** Options only for creating a target. */
  creation?: { options: Options; read: (session: Session, input: Input) => Fields };
  /** Notes for the help of `target create`. */
  details?: string;
}

/** Additions by kind. A kind that is not listed adds nothing. */
const kinds: Readonly<Partial<Record<Target["kind"], TargetKind>>> = {
  webhook: {
    settings: {
      options: {
        url: { value: "URL", help: "address of a webhook" },
        "event-type": {
          value: "EVENT-TYPE",
          multiple: true,
          help: "deliver only this type; may be repeated",
        },
        headers: {
          value: "FILE",
          help: "additional headers of a webhook, a JSON object of names and values; a file with null removes them",
        },
      },
      read: async ({ stdin }, input) => {
        const [eventTypes, headers] = [input.texts("event-type"), input.text("headers")];
        return {
          url: input.text("url"),
          event_types: eventTypes.length > 0 ? [...eventTypes] : undefined,
          headers: (headers === undefined
            ? undefined
            : await readGivenJson(stdin, headers, "the headers")) as NewTarget["headers"],
        };
      },
    },
    details: "The answer contains a webhook's signing secret, which is shown only once.",
  },
  mailbox: {
    isPulled: true,
    settings: {
      options: {
        "max-claims": { value: "N", help: "number of claims after which a mailbox's message is dead" },
      },
      read: async (_session, input) => ({ max_claims: input.number("max-claims", 1, 1_000) }),
    },
  },
  a2a: {
    creation: {
      options: {
        "card-url": { value: "URL", help: "address of an agent's card" },
        "confirm-origin": {
          value: "ORIGIN",
          help: "origin of an agent's interface, if the card has another one: the credential may go there",
        },
        "auth-header": { value: "NAME", help: "name of the header for an agent's API key" },
      },
      read: ({ env }, input) => ({
        agent_card_url: input.text("card-url"),
        auth: authOf(env["POSTRIDER_AGENT_TOKEN"] ?? "", input.text("auth-header")),
        confirm_origin: input.text("confirm-origin"),
      }),
    },
    details:
      "The bearer token of an agent, or its API key with --auth-header, is taken from POSTRIDER_AGENT_TOKEN.",
  },
};

const values = Object.values(kinds);

/** The options of all kinds: for creating and changing a target, and only for creating one. */
export const settingOptions: Options = allOf(values.map(({ settings }) => settings?.options));
export const creationOptions: Options = allOf(values.map(({ creation }) => creation?.options));

export const kindDetails = values.flatMap(({ details = [] }) => details).join("\n");

/** Reads the settings that were given, of all kinds. */
export async function readKindSettings(session: Session, input: Input): Promise<Fields> {
  return allOf(await Promise.all(values.map(async ({ settings }) => settings?.read(session, input))));
}

/** Reads the fields for creating a target. Given options of another kind are sent too, so that the service says what is wrong. */
export function readCreation(session: Session, input: Input, name: string): Fields {
  const isMeant = (kind: string, options: Options): boolean =>
    kind === name || Object.keys(options).some((option) => input.text(option) !== undefined);
  return allOf(
    Object.entries(kinds).map(([kind, { creation }]) =>
      creation !== undefined && isMeant(kind, creation.options) ? creation.read(session, input) : undefined,
    ),
  );
}

export function isPulled({ kind }: Target): boolean {
  return kinds[kind]?.isPulled === true;
}

export const kindsInWords = `${targetKindNames.slice(0, -1).join(", ")} or ${targetKindNames.at(-1)}`;

function allOf<T extends object>(parts: readonly (T | undefined)[]): T {
  return Object.assign({}, ...parts) as T;
}

function authOf(secret: string, header: string | undefined): NewTarget["auth"] {
  if (header === undefined) return secret === "" ? { type: "none" } : { type: "bearer", token: secret };
  if (secret === "") throw new UsageError("--auth-header needs the key in POSTRIDER_AGENT_TOKEN");
  return { type: "api_key", header, value: secret };
}
